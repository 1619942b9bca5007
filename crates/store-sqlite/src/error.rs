//! What can the caller do about an error of the engine?

use std::path::Path;

use rusqlite::ErrorCode;
use store::StoreError;

/// Sorts an engine's error, of anything but a commit, by what the caller can do. Never by text.
pub(crate) fn classify(file: &str, error: rusqlite::Error) -> StoreError {
    let Some(code) = error.sqlite_error_code() else {
        // What remains are values of another type or shape than was written.
        return corrupt(file, "a value has not the type that it was written with");
    };
    let damages = [
        (ErrorCode::DatabaseCorrupt, "its structure is damaged"),
        (ErrorCode::NotADatabase, "it is no database"),
        (ErrorCode::ConstraintViolation, "an index contradicts its table"),
        (ErrorCode::TypeMismatch, "a column has another type"),
    ];
    match damages.iter().find(|(damage, _)| *damage == code) {
        Some((_, what)) => corrupt(file, *what),
        None => StoreError::unavailable(error),
    }
}

/// Sorts the error of a commit. A full disk and a lock are met before the commit is written;
/// any other error may have come after it reached the file.
pub(crate) fn classify_commit(file: &str, error: rusqlite::Error) -> StoreError {
    let before = [ErrorCode::DatabaseBusy, ErrorCode::DiskFull, ErrorCode::ReadOnly];
    match error.sqlite_error_code() {
        Some(code) if before.contains(&code) => classify(file, error),
        Some(_) | None => StoreError::outcome_unknown(error),
    }
}

/// Says that a file is not what was written.
pub(crate) fn corrupt(file: &str, what: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into(), place: file.to_owned() }
}

/// Says that the operating system did not give a file.
pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::unavailable(FileError {
        path: path.display().to_string(),
        source: std::io::Error::from(error.kind()),
    })
}

/// An error of the operating system, with the file that it is about.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be opened")]
struct FileError {
    path: String,
    source: std::io::Error,
}
