//! What may be asked of storage: traits, errors, the strict memory model and the conformance suite.
