//! The SQLite backend against its contract: equal to the model, durable, and never fooled.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod dump;
#[cfg(test)]
mod equal;
#[cfg(test)]
mod files;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod operation;
#[cfg(test)]
mod setting;
#[cfg(test)]
mod share;
