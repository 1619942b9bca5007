//! How is JSON kept byte for byte beside its typed view?
//!
//! A message of another program is decoded in two steps: the parts that this build knows become
//! typed values, everything else stays the text that it was. [`Field`] is a typed field that never
//! fails its message: what has the wrong shape becomes [`Field::Odd`] with the shape that was
//! found. [`read_object`] reads what a strict reader refuses, [`canonical`] gives the form that does not depend on key order and white space, and
//! [`redact`] takes secrets out of text before it is kept.

mod canonical;
mod field;
mod lenient;
mod redact;

pub use canonical::{canonical, digest};
pub use field::{Field, Found, Text};
pub use lenient::{Flaw, FlawKind, read_object};
pub use redact::{Redactor, redact, word};
pub use serde_json::value::RawValue;
