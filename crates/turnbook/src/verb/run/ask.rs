//! What is answered when the agent asks? By policy, or by the person at the terminal.

use std::io::{BufRead as _, Write as _};

use harness::{Answer, Ask, AskBody, Question, Verdict};

use crate::{config::Permission, print::clean};

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answered {
    /// This.
    With(Answer),
    /// Nothing: the terminal gave no answer, and the question stays.
    Elsewhere,
}

/// Decides by policy; asks the person when that is the policy.
pub(super) async fn decide(policy: Permission, ask: &Ask) -> Answered {
    match policy {
        Permission::Reject => Answered::With(rejected(ask)),
        Permission::Allow => match &ask.body {
            AskBody::Permission { .. } => Answered::With(Answer::Permission(Verdict::Once)),
            // Nothing can be allowed there, and nobody is to be asked.
            AskBody::Questions(_) => Answered::With(Answer::Decline),
        },
        Permission::Ask => {
            let ask = ask.clone();
            let asked = tokio::task::spawn_blocking(move || at_terminal(&ask)).await;
            asked.ok().flatten().map_or(Answered::Elsewhere, Answered::With)
        }
    }
}

fn rejected(ask: &Ask) -> Answer {
    match &ask.body {
        AskBody::Permission { .. } => Answer::Permission(Verdict::Reject),
        AskBody::Questions(_) => Answer::Decline,
    }
}

fn at_terminal(ask: &Ask) -> Option<Answer> {
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
                answers.push(question_at_terminal(question)?);
            }
            let is_declined = answers.iter().all(Vec::is_empty);
            Some(if is_declined { Answer::Decline } else { Answer::Questions(answers) })
        }
    }
}

fn question_at_terminal(question: &Question) -> Option<Vec<Box<str>>> {
    say(&format!("\n{}", clean(&question.text)));
    for (at, choice) in question.choices.iter().enumerate() {
        say(&format!("  {}) {}  {}", at + 1, clean(&choice.label), clean(&choice.description)));
    }
    let hint = if question.multiple {
        "numbers with commas, your own words, or nothing to decline: "
    } else {
        "a number, your own words, or nothing to decline: "
    };
    let line = line(hint)?;
    if line.is_empty() {
        return Some(Vec::new());
    }
    let numbers: Option<Vec<usize>> =
        line.split(',').map(|word| word.trim().parse().ok()).collect();
    let chosen = numbers.and_then(|numbers| {
        let labels = numbers.into_iter().map(|number| {
            question.choices.get(number.checked_sub(1)?).map(|choice| choice.label.clone())
        });
        labels.collect::<Option<Vec<_>>>()
    });
    Some(chosen.unwrap_or_else(|| vec![line.into()]))
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
