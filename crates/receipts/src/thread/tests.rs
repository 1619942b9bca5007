//! The fold's cases and laws.

mod case;
mod property;
