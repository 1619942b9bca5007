//! How does what is known look, to a program and to a person?
//!
//! Everything here is a pure function over values; only [`line_out`] and [`text_out`] write.

mod config;
mod doctor;
mod driven;
mod gap;
mod grid;
mod json;
mod log;
mod sessions;
mod show;
mod style;
mod table;
mod text;
mod time;
mod tokens;
mod usage;
mod view;

use std::io::Write as _;

use serde::Serialize;

use crate::exit::Failure;

pub(crate) use self::{
    config::{config_human, config_json},
    doctor::{doctor_human, doctor_json},
    driven::{
        ask_human, driven_human, driven_json, recovered_human, recovered_json, watched_human,
        watched_json,
    },
    json::json,
    log::{event_human, event_json},
    sessions::{sessions_human, sessions_json},
    show::{show_human, show_json},
    style::{Paint, Style},
    table::table,
    text::clean,
    time::{moment, zoned},
    usage::{usage_human, usage_json},
};

/// Writes a whole text to standard output.
pub(crate) fn text_out(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::Internal(error.into()))
}

/// Writes one line to standard output.
pub(crate) fn line_out(line: &str) -> Result<(), Failure> {
    text_out(&format!("{line}\n"))
}

/// Gives a view as an indented JSON text with a newline.
pub(crate) fn pretty(view: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(view).expect("views have text keys only");
    text.push('\n');
    text
}

/// Gives a view as one line of JSON, without the newline.
pub(crate) fn compact(view: &impl Serialize) -> String {
    serde_json::to_string(view).expect("views have text keys only")
}
