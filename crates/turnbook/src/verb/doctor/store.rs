//! Can our own store be read?

use std::path::Path;

use store::Access as _;

use super::{Check, State, Topic, failed};
use crate::{exit::Failure, open};

/// Opens the store and reads its sessions, with the checksums of their rows.
pub(super) fn check(path: &Path) -> Check {
    let subject = path.display().to_string();
    match look(path) {
        Ok(found) => {
            Check { topic: Topic::Store, subject, state: State::Good, found, advice: None }
        }
        Err(failure @ Failure::NoStore(_)) => Check {
            topic: Topic::Store,
            subject,
            state: State::Absent,
            found: "there is no store yet".to_owned(),
            advice: failure.advice().map(str::to_owned),
        },
        Err(failure) => failed(Topic::Store, subject, &failure),
    }
}

fn look(path: &Path) -> Result<String, Failure> {
    let store = open::existing(path)?;
    let info = store.info()?;
    let sessions = match store.view(|ledger| open::sessions(ledger))?.len() {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
    Ok(format!(
        "{sessions} in {} bytes and a log of {} bytes; format 0.{}, SQLite {}",
        info.file_bytes, info.wal_bytes, info.format, info.sqlite
    ))
}
