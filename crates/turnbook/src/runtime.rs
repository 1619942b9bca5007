//! On what do the verbs wait for agents?

use tokio::runtime::Builder;

use crate::exit::Failure;

/// One for what is waited for, and one for what goes on meanwhile.
const WORKERS: usize = 2;

/// Waits for `work` on a runtime of its own.
///
/// # Errors
///
/// [`Failure::Internal`] when the system gives no runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Internal(error.into()))?;
    Ok(runtime.block_on(work))
}
