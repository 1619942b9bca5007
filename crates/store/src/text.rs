//! Which small words and labels are kept, and in which form?

use std::{collections::BTreeMap, fmt};

use receipts::IdError;

macro_rules! word_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks and takes a text.
            ///
            /// # Errors
            ///
            /// [`IdError`] when the text is empty or holds a NUL byte.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                if text.is_empty() {
                    return Err(IdError::Empty { what: $what });
                }
                match text.bytes().position(|byte| byte == 0) {
                    Some(at) => Err(IdError::Nul { what: $what, at }),
                    None => Ok(Self(text.into())),
                }
            }

            /// Gives the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word_type!(
    /// Names the agent program behind a session, such as `opencode`.
    HarnessName,
    "harness name"
);
word_type!(
    /// Says where a harness's provider process can be reached, without credentials.
    Endpoint,
    "endpoint"
);
word_type!(
    /// Names the work that a session is bound to, in the caller's words.
    Work,
    "work"
);
word_type!(
    /// Names the workflow that made a turn selection.
    FlowName,
    "flow name"
);

/// Labels of a caller, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Labels(BTreeMap<Box<str>, Box<str>>);

impl Labels {
    /// No labels.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Takes labels; of two with one name the later stays.
    ///
    /// # Errors
    ///
    /// [`IdError`] when a name is empty or a name or value holds a NUL byte.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, IdError> {
        let mut labels = BTreeMap::new();
        for (name, value) in pairs {
            let (name, value) = (name.as_ref(), value.as_ref());
            if name.is_empty() {
                return Err(IdError::Empty { what: "label name" });
            }
            for (what, text) in [("label name", name), ("label value", value)] {
                if let Some(at) = text.bytes().position(|byte| byte == 0) {
                    return Err(IdError::Nul { what, at });
                }
            }
            labels.insert(name.into(), value.into());
        }
        Ok(Self(labels))
    }

    /// Gives the value of one label.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value)
    }

    /// Lists the labels, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Tells whether there is no label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
