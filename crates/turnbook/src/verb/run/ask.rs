//! What is answered when the agent asks? By policy, or by the person at the terminal.

use std::{
    io::{BufRead as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use harness::{Answer, Ask, AskBody, AskId, Question, Verdict};
use tokio::sync::mpsc;

use crate::{config::Permission, print::clean};

/// Decides by policy; `None` when the person is to be asked.
pub(super) fn by_policy(policy: Permission, ask: &Ask) -> Option<Answer> {
    match policy {
        Permission::Reject => Some(rejected(ask)),
        Permission::Allow => Some(match &ask.body {
            AskBody::Permission { .. } => Answer::Permission(Verdict::Once),
            // Nothing can be allowed there, and nobody is to be asked.
            AskBody::Questions(_) => Answer::Decline,
        }),
        Permission::Ask => None,
    }
}

/// What the person said; `None` when the terminal is gone, or the question was withdrawn.
pub(super) type Said = (AskId, Option<Answer>);

/// The person at the terminal, who is asked one thing after the other.
///
/// Whoever waits for the answer can turn to something else meanwhile, such as Ctrl-C: the terminal
/// is read by a thread of its own, which ends with the program.
#[derive(Debug)]
pub(super) struct Person {
    tell: mpsc::Sender<Said>,
    told: mpsc::Receiver<Said>,
    asked: Option<(AskId, Arc<AtomicBool>)>,
}

impl Person {
    pub(super) fn new() -> Self {
        let (tell, told) = mpsc::channel(1);
        Self { tell, told, asked: None }
    }

    /// Asks, unless something is being asked already.
    pub(super) fn ask(&mut self, ask: &Ask) {
        if self.asked.is_some() {
            return;
        }
        let is_withdrawn = Arc::new(AtomicBool::new(false));
        self.asked = Some((ask.id.clone(), Arc::clone(&is_withdrawn)));
        let (tell, ask) = (self.tell.clone(), ask.clone());
        thread::spawn(move || {
            let answer = at_terminal(&ask, &is_withdrawn);
            // The turn may have ended meanwhile.
            let _heard = tell.blocking_send((ask.id, answer));
        });
    }

    /// Tells whether the person is being asked something.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Withdraws a question, and tells whether it was being asked; the terminal still waits for a
    /// line.
    pub(super) fn withdraw(&self, ask: &AskId) -> bool {
        let asked = self.asked.as_ref().filter(|(asked, _)| asked == ask);
        asked.inspect(|(_, is_withdrawn)| is_withdrawn.store(true, Ordering::Relaxed)).is_some()
    }

    /// Waits for the answer; for ever when nothing is asked. Cancelling the future loses nothing.
    pub(super) async fn said(&mut self) -> Said {
        let said = self.told.recv().await.expect("the sender is held here");
        self.asked = None;
        said
    }
}

fn rejected(ask: &Ask) -> Answer {
    match &ask.body {
        AskBody::Permission { .. } => Answer::Permission(Verdict::Reject),
        AskBody::Questions(_) => Answer::Decline,
    }
}

fn at_terminal(ask: &Ask, is_withdrawn: &AtomicBool) -> Option<Answer> {
    let line = |hint: &str| line(hint).filter(|_| !is_withdrawn.load(Ordering::Relaxed));
    match &ask.body {
        AskBody::Permission { permission, patterns } => {
            let wants: Vec<String> = patterns.iter().map(|pattern| clean(pattern)).collect();
            say(&format!("\nthe agent asks for {}: {}", clean(permission), wants.join(", ")));
            loop {
                match line("allow? [y]es, [a]lways, [n]o: ")?.as_str() {
                    "y" | "yes" => return Some(Answer::Permission(Verdict::Once)),
                    "a" | "always" => return Some(Answer::Permission(Verdict::Always)),
                    "n" | "no" => return Some(Answer::Permission(Verdict::Reject)),
                    _ => {}
                }
            }
        }
        AskBody::Questions(questions) => {
            let mut answers = Vec::with_capacity(questions.len());
            for question in questions {
                answers.push(question_at_terminal(question, line)?);
            }
            let is_declined = answers.iter().all(Vec::is_empty);
            Some(if is_declined { Answer::Decline } else { Answer::Questions(answers) })
        }
    }
}

fn question_at_terminal(
    question: &Question,
    line: impl Fn(&str) -> Option<String>,
) -> Option<Vec<Box<str>>> {
    say(&format!("\n{}", clean(&question.text)));
    for (at, choice) in question.choices.iter().enumerate() {
        say(&format!("  {}) {}  {}", at + 1, clean(&choice.label), clean(&choice.description)));
    }
    let hint = if question.multiple {
        "numbers with commas, your own words, or nothing to decline: "
    } else {
        "a number, your own words, or nothing to decline: "
    };
    Some(choose(question, &line(hint)?))
}

/// Takes a line for the numbers of choices, or for the person's own words.
fn choose(question: &Question, line: &str) -> Vec<Box<str>> {
    if line.is_empty() {
        return Vec::new();
    }
    let numbers: Option<Vec<usize>> =
        line.split(',').map(|word| word.trim().parse().ok()).collect();
    let chosen = numbers.and_then(|numbers| {
        let labels = numbers.into_iter().map(|number| {
            question.choices.get(number.checked_sub(1)?).map(|choice| choice.label.clone())
        });
        labels.collect::<Option<Vec<_>>>()
    });
    chosen.unwrap_or_else(|| vec![line.into()])
}

fn say(text: &str) {
    // A terminal that is gone cannot be asked anything.
    let _said = writeln!(std::io::stderr(), "{text}");
}

fn line(hint: &str) -> Option<String> {
    let mut err = std::io::stderr();
    write!(err, "{hint}").and_then(|()| err.flush()).ok()?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use harness::{Answer, Ask, AskBody, AskId, Choice, Question, Verdict};
    use receipts::ThreadId;

    use super::{by_policy, choose};
    use crate::config::Permission;

    fn question() -> Question {
        let choice = |label: &str| Choice { label: label.into(), description: "".into() };
        let choices = ["main", "next"].map(choice).to_vec();
        Question { text: "Which branch?".into(), choices, multiple: true }
    }

    #[test]
    fn a_policy_answers_for_the_person_or_leaves_it_to_them() {
        let ask = |body| Ask {
            id: AskId::new("ask_1").unwrap(),
            thread: ThreadId::new("ses_1").unwrap(),
            message: None,
            body,
        };
        let permission =
            ask(AskBody::Permission { permission: "bash".into(), patterns: Vec::new() });
        let questions = ask(AskBody::Questions(vec![question()]));
        let answers = |policy| [&permission, &questions].map(|ask| by_policy(policy, ask));
        let verdict = |verdict| Some(Answer::Permission(verdict));
        assert_eq!(answers(Permission::Ask), [None, None]);
        assert_eq!(answers(Permission::Allow), [verdict(Verdict::Once), Some(Answer::Decline)]);
        assert_eq!(answers(Permission::Reject), [verdict(Verdict::Reject), Some(Answer::Decline)]);
    }

    #[test]
    fn a_line_is_taken_for_numbers_of_choices_or_for_own_words() {
        let chosen = |line| choose(&question(), line).join("|");
        let told = ["", "2", "1, 2", "0", "3", "1 and 2", "neither"].map(chosen);
        assert_eq!(told, ["", "next", "main|next", "0", "3", "1 and 2", "neither"]);
    }
}
