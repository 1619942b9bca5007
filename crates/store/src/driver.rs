//! Who may write to a session's harness?

use receipts::ExecId;

use crate::text::Endpoint;

/// The fencing token of a session: one higher with every claim, release and finish, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

/// The number of a session's provider: one higher with every replacement; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderGeneration(pub u64);

/// A process, told apart from a later one with the same pid.
///
/// Two are one process only when both fields are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// When it started, in the unit of the platform that told it; compared for equality only.
    pub start_time: u64,
}

/// The authority to write to a session's harness, as one value.
///
/// Whoever holds a value that is not the current one is stale and is refused (rule L6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// The run that drives; `None` after a release or finish. Without one nothing can be sent.
    pub exec: Option<ExecId>,
    /// The fencing token.
    pub generation: Generation,
    /// Which provider.
    pub provider_generation: ProviderGeneration,
    /// The run that started, or first attached to, the provider.
    pub provider_exec: Option<ExecId>,
    /// Where the provider is reached.
    pub endpoint: Option<Endpoint>,
    /// The provider's process; `None` when it is not known.
    pub process: Option<ProcessIdentity>,
}

/// What a claim does with the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// The running one goes on under the new driver.
    Keep,
    /// There will be another: its number rises, endpoint and process are cleared.
    Replace,
}

impl Driver {
    /// Gives the driver that a claim leads to; `expected` is the current one.
    #[must_use]
    pub fn claimed(expected: Option<&Self>, exec: &ExecId, provider: Provider) -> Self {
        let generation = Generation(expected.map_or(0, |driver| driver.generation.0) + 1);
        let number = expected.map_or(0, |driver| driver.provider_generation.0);
        match provider {
            Provider::Keep => Self {
                exec: Some(exec.clone()),
                generation,
                provider_generation: ProviderGeneration(number),
                provider_exec: expected.and_then(|driver| driver.provider_exec.clone()),
                endpoint: expected.and_then(|driver| driver.endpoint.clone()),
                process: expected.and_then(|driver| driver.process),
            },
            Provider::Replace => Self {
                exec: Some(exec.clone()),
                generation,
                provider_generation: ProviderGeneration(number + 1),
                provider_exec: Some(exec.clone()),
                endpoint: None,
                process: None,
            },
        }
    }

    /// Gives the driver after a release: nobody drives, the provider stays.
    #[must_use]
    pub fn released(&self) -> Self {
        Self { exec: None, generation: Generation(self.generation.0 + 1), ..self.clone() }
    }

    /// Gives the driver after a finish: nobody drives, and the provider is gone.
    #[must_use]
    pub fn finished(&self) -> Self {
        Self { endpoint: None, process: None, ..self.released() }
    }
}

#[cfg(test)]
mod tests {
    use receipts::ExecId;

    use super::{Driver, Generation, Provider, ProviderGeneration};

    /// Ledger.md 3: a fencing token is never used twice, and only a new provider is numbered anew.
    #[test]
    fn every_step_raises_the_generation() {
        let exec = ExecId::new("exec").unwrap();
        let first = Driver::claimed(None, &exec, Provider::Replace);
        let kept = Driver::claimed(Some(&first), &exec, Provider::Keep);
        let released = kept.released();
        let finished = released.finished();
        let steps = [&first, &kept, &released, &finished]
            .map(|driver| (driver.generation, driver.provider_generation, driver.exec.is_some()));
        let numbers = |generation, provider| (Generation(generation), ProviderGeneration(provider));
        let expected =
            [(1, true), (2, true), (3, false), (4, false)].map(|(generation, drives)| {
                let (generation, provider) = numbers(generation, 1);
                (generation, provider, drives)
            });
        assert_eq!(steps, expected);
    }
}
