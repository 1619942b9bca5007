//! How is the store asked from a task? On a thread that may block.

use store::{Ledger, LedgerWrite, Result, StoreError, Writer};
use tokio::task::{JoinError, spawn_blocking};

/// Reads a value from one state.
pub(crate) async fn view<T: Send + 'static>(
    writer: &Writer,
    work: impl FnOnce(&dyn Ledger) -> Result<T> + Send + 'static,
) -> Result<T> {
    let writer = writer.clone();
    joined(spawn_blocking(move || writer.view(work)).await)
}

/// Runs one transaction; it goes on when its caller is cancelled.
pub(crate) async fn update<T: Send + 'static>(
    writer: &Writer,
    work: impl FnMut(&mut dyn LedgerWrite) -> Result<T> + Send + 'static,
) -> Result<T> {
    let writer = writer.clone();
    joined(spawn_blocking(move || writer.update(work)).await)
}

fn joined<T>(result: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    match result {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down before the work began.
            Err(error) => Err(StoreError::unavailable(error)),
        },
    }
}
