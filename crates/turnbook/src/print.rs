//! How does a folded history look, to a program and to a person?

mod json;
mod table;

pub(crate) use json::json;
pub(crate) use table::table;
