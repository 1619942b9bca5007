//! Who may send now, and until when? Every write takes a pass.

use std::{fmt, sync::Arc, time::Duration};

/// What keeps other drivers from sending, for a while.
///
/// Implemented by whoever holds the lock and the clock. The fence is held as long as a [`Pass`] of
/// it exists.
pub trait Fence: fmt::Debug + Send + Sync {
    /// How long bytes may still leave; zero once they may not.
    ///
    /// A client asks before each byte that it hands on, so that a send that was stalled ends
    /// truncated and is never admitted.
    fn remaining(&self) -> Duration;
}

/// The leave to send one thing (rule L6).
///
/// A client keeps it until the last byte is out or can no longer leave, also when its caller is
/// cancelled, and then drops it at once: the fence covers sending, not answering.
///
/// ```
/// use std::{sync::atomic::{AtomicBool, Ordering}, time::Duration};
///
/// use harness::{Fence, Pass};
///
/// /// Held while it exists, and open until another driver has taken over.
/// #[derive(Debug)]
/// struct Lock { is_lost: &'static AtomicBool }
///
/// impl Fence for Lock {
///     fn remaining(&self) -> Duration {
///         match self.is_lost.load(Ordering::Acquire) {
///             true => Duration::ZERO,
///             false => Duration::from_secs(10),
///         }
///     }
/// }
///
/// static IS_LOST: AtomicBool = AtomicBool::new(false);
/// let pass = Pass::new(Lock { is_lost: &IS_LOST });
/// assert!(pass.is_open());
/// IS_LOST.store(true, Ordering::Release);
/// assert!(!pass.is_open(), "not one byte more leaves under it");
/// assert!(Pass::unfenced().is_open());
/// ```
#[derive(Clone)]
pub struct Pass(Option<Arc<dyn Fence>>);

impl Pass {
    /// Takes a fence; dropping the last clone of the pass lets go of it.
    #[must_use]
    pub fn new(fence: impl Fence + 'static) -> Self {
        Self(Some(Arc::new(fence)))
    }

    /// Gives leave without a fence, for use without a store and other drivers.
    #[must_use]
    pub fn unfenced() -> Self {
        Self(None)
    }

    /// How long bytes may still leave; `None` without a limit.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.0.as_ref().map(|fence| fence.remaining())
    }

    /// Tells whether bytes may still leave.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.remaining().is_none_or(|left| !left.is_zero())
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(fence) => f.debug_tuple("Pass").field(fence).finish(),
            None => f.write_str("Pass(unfenced)"),
        }
    }
}
