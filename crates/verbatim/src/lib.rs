//! How is JSON kept byte for byte beside its typed view?
//!
//! A message of another program is decoded in two steps: the parts that this build knows become
//! typed values, everything else stays the text that it was. [`Field`] is a typed field that never
//! fails its message: what has the wrong shape becomes [`Field::Odd`] with the shape that was
//! found. [`canonical`] gives the form that does not depend on key order and white space, and
//! [`redact`] takes secrets out of text before it is kept.

mod canonical;
mod field;
mod redact;

pub use canonical::{canonical, digest};
pub use field::{Field, Found, Text};
pub use redact::{Redactor, redact};
pub use serde_json::value::RawValue;
