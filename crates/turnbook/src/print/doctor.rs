//! How do the findings of the doctor look?

use serde::Serialize;

use super::{
    pretty,
    style::{Paint, Tone},
};
use crate::verb::doctor::{Check, State};

/// Gives two or three lines for each thing that was looked at.
pub(crate) fn doctor_human(checks: &[Check], paint: Paint) -> String {
    let mut text = format!("turnbook {}\n", env!("CARGO_PKG_VERSION"));
    for check in checks {
        let tone = match check.state {
            State::Good => Tone::Good,
            State::Absent => Tone::Faint,
            State::Wrong(_) => Tone::Bad,
        };
        let state = paint.paint(tone, &format!("{:<6}", check.state.as_str()));
        text.extend([format!("{state}  {:<13}  {}\n", check.topic.as_str(), check.subject)]);
        text.extend([format!("{:23}{}\n", "", check.found)]);
        if let Some(advice) = &check.advice {
            text.extend([format!("{:23}what to do: {advice}\n", "")]);
        }
    }
    text
}

#[derive(Serialize)]
struct DoctorView<'a> {
    version: &'static str,
    checks: Vec<CheckView<'a>>,
}

#[derive(Serialize)]
struct CheckView<'a> {
    topic: &'static str,
    subject: &'a str,
    state: &'static str,
    found: &'a str,
    advice: Option<&'a str>,
}

/// Gives one object.
pub(crate) fn doctor_json(checks: &[Check]) -> String {
    let checks = checks.iter().map(|check| CheckView {
        topic: check.topic.as_str(),
        subject: &check.subject,
        state: check.state.as_str(),
        found: &check.found,
        advice: check.advice.as_deref(),
    });
    pretty(&DoctorView { version: env!("CARGO_PKG_VERSION"), checks: checks.collect() })
}
