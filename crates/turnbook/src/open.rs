//! How is the store opened, and a session found by what a person calls it?

use std::path::Path;

use receipts::{SessionId, UnixMillis};
use store::{Access as _, Ledger, Session, StoreError};
use store_sqlite::SqliteStore;

use crate::{context::Context, exit::Failure, print::clean};

/// How many sessions are read at once.
const PAGE: usize = 512;
/// How many names an error lists.
const NAMES_MAX: usize = 5;
/// Names less like than this are not the one that was meant.
const LIKENESS_MIN: f64 = 0.6;

/// Reads this machine's clock.
pub(crate) fn now() -> UnixMillis {
    UnixMillis(jiff::Timestamp::now().as_millisecond())
}

/// Opens the store that is there; makes none.
///
/// # Errors
///
/// [`Failure::NoStore`], and [`Failure::Store`] for a file that cannot be read.
pub(crate) fn existing(path: &Path) -> Result<SqliteStore, Failure> {
    match SqliteStore::open_existing(path) {
        Ok(store) => Ok(store),
        Err(StoreError::NotFound { .. }) => Err(Failure::NoStore(path.to_owned())),
        Err(error) => Err(error.into()),
    }
}

/// Reads from the configured store.
///
/// # Errors
///
/// As [`existing`], and what `work` gives.
pub(crate) fn view<T>(
    context: &Context,
    work: impl FnOnce(&dyn Ledger) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // What `work` says passes through whole: a failed read needs no rollback.
    existing(&context.config.store.value)?.view(|ledger| Ok(work(ledger)))?
}

/// Lists all sessions in the order of their creation.
///
/// # Errors
///
/// As [`Ledger::sessions`].
pub(crate) fn sessions(ledger: &dyn Ledger) -> store::Result<Vec<Session>> {
    let mut sessions: Vec<Session> = Vec::new();
    loop {
        let page = ledger.sessions(sessions.last().map(Session::id), PAGE)?;
        if page.is_empty() {
            return Ok(sessions);
        }
        sessions.extend(page);
    }
}

/// Finds a session by its id, its title, or a beginning of its id that no other has.
///
/// # Errors
///
/// [`Failure::BadInput`] names those that are meant by an ambiguous name, or the nearest to an
/// unknown one.
pub(crate) fn session(ledger: &dyn Ledger, name: &str) -> Result<Session, Failure> {
    if let Ok(id) = SessionId::new(name)
        && let Some(session) = ledger.session(&id)?
    {
        return Ok(session);
    }
    let mut sessions = sessions(ledger)?;
    let matches = |is_match: &dyn Fn(&Session) -> bool| -> Vec<usize> {
        let found = sessions.iter().enumerate().filter(|(_, session)| is_match(session));
        found.map(|(at, _)| at).collect()
    };
    let by_title = matches(&|session| session.fixed.title.as_deref() == Some(name));
    let by_prefix = matches(&|session| !name.is_empty() && session.id().as_str().starts_with(name));
    let found = if by_title.is_empty() { by_prefix } else { by_title };
    match found.as_slice() {
        [at] => Ok(sessions.swap_remove(*at)),
        [] => Err(Failure::BadInput(unknown(name, &sessions))),
        _ => {
            let ids = found.iter().filter_map(|at| sessions.get(*at)).map(Session::id);
            let ids = list(ids.map(SessionId::as_str));
            Err(Failure::BadInput(anyhow::anyhow!(
                "{:?} means more than one session: {ids}",
                clean(name)
            )))
        }
    }
}

fn unknown(name: &str, sessions: &[Session]) -> anyhow::Error {
    let shown = clean(name);
    let nearest = sessions
        .iter()
        .flat_map(|session| {
            let title = session.fixed.title.as_deref();
            [Some(session.id().as_str()), title].into_iter().flatten()
        })
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match nearest {
        Some((_, nearest)) => {
            anyhow::anyhow!("there is no session {shown:?}; did you mean {:?}?", clean(nearest))
        }
        None if sessions.is_empty() => {
            anyhow::anyhow!("there is no session {shown:?}; the store has none yet")
        }
        None => anyhow::anyhow!(
            "there is no session {shown:?}; `turnbook sessions` lists what is there"
        ),
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(clean).collect();
    let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMES_MAX) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
