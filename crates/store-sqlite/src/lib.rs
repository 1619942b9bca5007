//! The storage traits on SQLite: compact rows, each with a checksum, and durable commits.
//!
//! [`SqliteStore`] implements [`store::Store`]; the ledger's rules are those of `store`, this crate
//! keeps rows. What is in the file is told in `schema.sql`, how it changes in `migrate.rs`.

mod body;
mod busy;
mod cells;
mod checksum;
mod codec;
mod error;
mod migrate;
mod names;
mod open;
mod rows;
mod schema;
mod sqlite_store;
mod transaction;
mod word;

pub use sqlite_store::{Info, SqliteStore};
