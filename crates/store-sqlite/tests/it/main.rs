//! The SQLite backend against its contract: equal to the model, durable, and never fooled.

#[cfg(test)]
mod dump;
#[cfg(test)]
mod equal;
#[cfg(test)]
mod files;
#[cfg(test)]
mod operation;
#[cfg(test)]
mod setting;
