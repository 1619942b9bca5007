//! The receipt fold of one thread.

/// placeholder
#[derive(Debug)]
pub struct Thread;
/// placeholder
#[derive(Debug)]
pub struct Keep;
