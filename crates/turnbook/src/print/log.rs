//! How does one event look?

use receipts::{Completion, Counters, FactBody, SessionId, ThreadId, TurnId};
use serde::Serialize;
use store::{Effect, Event, EventBody, ExecOutcome, Stage};

use super::{
    compact,
    style::{Style, Tone},
    text::{clean, first_line, fit},
    time::moment,
    tokens::number,
    view::{CompletionView, CounterView, GapView, OutcomeView, dispatch_words},
};

/// How wide place, time and kind of an event are together, with the spaces between them.
const USED: usize = 6 + 2 + 19 + 2 + 12 + 2;

/// Gives one line, without its newline.
pub(crate) fn event_human(event: &Event, style: &Style) -> String {
    let kind = format!("{:<12}", clean(event.body.kind()));
    let words = match &event.turn {
        Some(turn) => format!("{turn}: {}", words(&event.body)),
        None => words(&event.body),
    };
    let words = fit(&first_line(&words), style.width, USED);
    let time = moment(event.recorded_at, &style.zone);
    let kind = style.paint.paint(tone(&event.body), &kind);
    format!("{:>6}  {time:<19}  {kind}  {words}", event.seq.0)
}

fn tone(body: &EventBody) -> Tone {
    match body {
        EventBody::Fact(FactBody::Completed(completion)) => Tone::of(completion.status),
        EventBody::Fact(FactBody::Gap(_)) | EventBody::Contradicted { .. } => Tone::Warn,
        EventBody::Exited => Tone::Bad,
        EventBody::Unknown { .. } => Tone::Faint,
        EventBody::Captured { .. }
        | EventBody::Requested { .. }
        | EventBody::Fact(_)
        | EventBody::Raised { .. }
        | EventBody::DriverFinished { .. }
        | EventBody::Effect { .. }
        | EventBody::Closed => Tone::Plain,
    }
}

fn words(body: &EventBody) -> String {
    match body {
        EventBody::Captured { input, capture } => {
            format!("input {input} is the session's input number {}", capture.0)
        }
        EventBody::Requested { request } => format!("request {request} is meant to be sent"),
        EventBody::Fact(fact) => fact_words(fact),
        EventBody::Raised { call, counters } => {
            format!("call {call} was seen again with more: {}", counters_words(counters))
        }
        EventBody::Contradicted { first, latest } => {
            let kind = latest.kind();
            format!(
                "a later {kind} differs from event {first}, which holds: {}",
                fact_words(latest)
            )
        }
        EventBody::Exited => "the agent's process is proven gone".to_owned(),
        EventBody::DriverFinished { exec, generation, outcome } => {
            let exec = exec.as_ref().map_or("nobody", receipts::ExecId::as_str);
            let generation = generation.0;
            format!("driver {exec} of generation {generation} {}", outcome_words(*outcome))
        }
        EventBody::Effect { effect, stage, .. } => {
            format!("{}: {}", effect_words(effect), stage_words(stage))
        }
        EventBody::Closed => "the session is closed".to_owned(),
        EventBody::Unknown { key, .. } => format!("an event of a newer turnbook: {key}"),
    }
}

/// Tells a fact in words.
pub(super) fn fact_words(fact: &FactBody) -> String {
    match fact {
        FactBody::Admitted { kind, .. } => format!("the agent stored the {}", kind.as_str()),
        FactBody::Started { message, .. } => format!("the agent began to answer in {message}"),
        FactBody::Call { key, counters, model, .. } => {
            let model = model.as_deref().unwrap_or("a model that is not known");
            format!("call {key} of {model}: {}", counters_words(counters))
        }
        FactBody::Child { thread } => format!("it started {thread}"),
        FactBody::Generated { message } => format!("the agent itself put in {message}"),
        FactBody::Completed(completion) => completion_words(completion),
        FactBody::Gap(gap) => gap.to_string(),
    }
}

fn completion_words(completion: &Completion) -> String {
    let mut words = completion.status.to_string();
    if let Some(later) = &completion.absorbed_by {
        words.extend([format!(" by {later}")]);
    }
    if let Some(failure) = &completion.failure {
        words.extend([format!(": {}: {}", failure.name, failure.message)]);
    }
    words
}

fn counters_words(counters: &Counters) -> String {
    let mut words: Vec<String> = counters
        .tokens()
        .into_iter()
        .filter_map(|(counter, tokens)| {
            let name = counter.as_str().replace('_', " ");
            tokens.map(|tokens| format!("{name} {}", number(tokens)))
        })
        .collect();
    words.extend(counters.cost.map(|cost| format!("{cost} USD")));
    if words.is_empty() { "its usage was never stored".to_owned() } else { words.join(", ") }
}

/// Says how a run ended, after its name.
pub(super) fn outcome_words(outcome: ExecOutcome) -> String {
    match outcome {
        ExecOutcome::Exited(code) => format!("ended with exit code {code}"),
        ExecOutcome::Killed(signal) => format!("was killed by signal {signal}"),
        ExecOutcome::Lost => "is gone, and nobody saw how".to_owned(),
    }
}

fn effect_words(effect: &Effect) -> String {
    match effect {
        Effect::CreateThread { title } => format!("a new conversation {title:?}"),
        Effect::Abort => "an abort".to_owned(),
        Effect::Answer { ask, answer } => format!("the answer {answer:?} to {ask}"),
    }
}

fn stage_words(stage: &Stage) -> String {
    match stage {
        Stage::Meant => "it is meant to be sent".to_owned(),
        Stage::Dispatched(dispatch) => match dispatch_words(dispatch) {
            (state, Some(why)) => format!("{}: {why}", state.replace('_', " ")),
            (state, None) => state.to_owned(),
        },
    }
}

#[derive(Serialize)]
struct EventView<'a> {
    seq: u64,
    session: &'a str,
    thread: Option<&'a str>,
    turn: Option<&'a str>,
    recorded_at: i64,
    evidence: Option<String>,
    kind: &'a str,
    body: BodyView<'a>,
}

/// What the kinds tell; `kind` says which it is.
#[derive(Serialize)]
#[serde(untagged)]
enum BodyView<'a> {
    Captured {
        input: &'a str,
        capture: u64,
    },
    Requested {
        request: &'a str,
    },
    Admitted {
        kind: &'static str,
        at: Option<i64>,
    },
    Started {
        message: &'a str,
        at: Option<i64>,
    },
    Call {
        call: &'a str,
        message: &'a str,
        at: Option<i64>,
        usage: CounterView,
        provider: Option<&'a str>,
        model: Option<&'a str>,
    },
    Child {
        child: &'a str,
    },
    Generated {
        generated: &'a str,
    },
    Completed(Box<CompletionView<'a>>),
    Gap(GapView),
    Raised {
        call: &'a str,
        usage: CounterView,
    },
    Contradicted {
        first: u64,
        kind: &'static str,
        latest: Box<Self>,
    },
    DriverFinished {
        exec: Option<&'a str>,
        generation: u64,
        outcome: OutcomeView,
    },
    Effect {
        effect: EffectView<'a>,
        attempt: u64,
        stage: &'static str,
        why: Option<&'a str>,
    },
    Unknown {
        key: &'a str,
    },
    Nothing {},
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum EffectView<'a> {
    CreateThread { title: &'a str },
    Abort,
    Answer { ask: &'a str, answer: &'a str },
}

impl<'a> BodyView<'a> {
    fn new(body: &'a EventBody) -> Self {
        match body {
            EventBody::Captured { input, capture } => {
                Self::Captured { input: input.as_str(), capture: capture.0 }
            }
            EventBody::Requested { request } => Self::Requested { request: request.as_str() },
            EventBody::Fact(fact) => Self::fact(fact),
            EventBody::Raised { call, counters } => {
                Self::Raised { call: call.as_str(), usage: CounterView::new(counters) }
            }
            EventBody::Contradicted { first, latest } => Self::Contradicted {
                first: first.0,
                kind: latest.kind(),
                latest: Box::new(Self::fact(latest)),
            },
            EventBody::DriverFinished { exec, generation, outcome } => Self::DriverFinished {
                exec: exec.as_ref().map(receipts::ExecId::as_str),
                generation: generation.0,
                outcome: OutcomeView::new(*outcome),
            },
            EventBody::Effect { effect, attempt, stage } => {
                let (stage, why) = match stage {
                    Stage::Meant => ("meant", None),
                    Stage::Dispatched(dispatch) => dispatch_words(dispatch),
                };
                Self::Effect { effect: EffectView::new(effect), attempt: attempt.0, stage, why }
            }
            EventBody::Unknown { key, .. } => Self::Unknown { key },
            EventBody::Exited | EventBody::Closed => Self::Nothing {},
        }
    }

    fn fact(fact: &'a FactBody) -> Self {
        match fact {
            FactBody::Admitted { kind, at } => {
                Self::Admitted { kind: kind.as_str(), at: at.map(|at| at.0) }
            }
            FactBody::Started { message, at } => {
                Self::Started { message: message.as_str(), at: at.map(|at| at.0) }
            }
            FactBody::Call { key, message, at, counters, provider, model } => Self::Call {
                call: key.as_str(),
                message: message.as_str(),
                at: at.map(|at| at.0),
                usage: CounterView::new(counters),
                provider: provider.as_deref(),
                model: model.as_deref(),
            },
            FactBody::Child { thread } => Self::Child { child: thread.as_str() },
            FactBody::Generated { message } => Self::Generated { generated: message.as_str() },
            FactBody::Completed(completion) => {
                Self::Completed(Box::new(CompletionView::new(completion)))
            }
            FactBody::Gap(gap) => Self::Gap(GapView::new(gap)),
        }
    }
}

impl<'a> EffectView<'a> {
    fn new(effect: &'a Effect) -> Self {
        match effect {
            Effect::CreateThread { title } => Self::CreateThread { title },
            Effect::Abort => Self::Abort,
            Effect::Answer { ask, answer } => Self::Answer { ask, answer },
        }
    }
}

/// Gives one line of JSON, without its newline.
pub(crate) fn event_json(event: &Event) -> String {
    compact(&EventView {
        seq: event.seq.0,
        session: SessionId::as_str(&event.session),
        thread: event.thread.as_ref().map(ThreadId::as_str),
        turn: event.turn.as_ref().map(TurnId::as_str),
        recorded_at: event.recorded_at.0,
        evidence: event.evidence.map(|digest| digest.to_string()),
        kind: event.body.kind(),
        body: BodyView::new(&event.body),
    })
}
