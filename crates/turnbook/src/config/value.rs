//! Which values may a setting have?

use std::{fmt, num::NonZeroU64, str::FromStr, time::Duration};

use clap::ValueEnum;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, de};

/// Says why a text is no such value; never holds the text where that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ValueError(String);

/// A time zone with the name by which it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Zone {
    name: Box<str>,
    zone: TimeZone,
}

impl Zone {
    /// Takes the zone of this machine; UTC when it has none.
    pub(crate) fn system() -> Self {
        let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
        Self { name: zone.iana_name().unwrap_or("local time").into(), zone }
    }

    /// Gives its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Gives the zone.
    pub(crate) fn rules(&self) -> &TimeZone {
        &self.zone
    }
}

impl FromStr for Zone {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match TimeZone::get(text) {
            Ok(zone) => Ok(Self { name: zone.iana_name().unwrap_or(text).into(), zone }),
            Err(_) => Err(ValueError(format!(
                "{text:?} is no time zone: give a name such as Europe/Vienna or UTC"
            ))),
        }
    }
}

impl TryFrom<String> for Zone {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        text.parse()
    }
}

/// What is answered when an agent asks for a permission or puts a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(try_from = "String")]
pub(crate) enum Permission {
    /// A person is asked, on a terminal; else it is rejected.
    Ask,
    /// It is allowed, once each time.
    Allow,
    /// It is rejected.
    Reject,
}

impl Permission {
    /// Gives the word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Reject => "reject",
        }
    }
}

impl FromStr for Permission {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        [Self::Ask, Self::Allow, Self::Reject]
            .into_iter()
            .find(|permission| permission.as_str() == text)
            .ok_or_else(|| ValueError(format!("{text:?} is none of ask, allow and reject")))
    }
}

impl TryFrom<String> for Permission {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        text.parse()
    }
}

/// A model with who serves it, written `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ModelName {
    provider: Box<str>,
    model: Box<str>,
}

impl FromStr for ModelName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self { provider: provider.into(), model: model.into() })
            }
            Some(_) | None => {
                Err(ValueError(format!("{text:?} is no model: write provider/model")))
            }
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        text.parse()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// A time to wait, in milliseconds; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Millis(NonZeroU64);

impl Millis {
    /// How long a read or a send may take when nobody says otherwise.
    pub(crate) const PATIENCE: Self = Self(NonZeroU64::new(10_000).expect("not zero"));

    /// Gives the number.
    pub(crate) fn get(self) -> u64 {
        self.0.get()
    }

    /// Gives the time.
    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis(self.get())
    }
}

impl TryFrom<u64> for Millis {
    type Error = ValueError;

    fn try_from(number: u64) -> Result<Self, ValueError> {
        let number = NonZeroU64::new(number);
        number.map(Self).ok_or_else(|| ValueError("expected at least one millisecond".to_owned()))
    }
}

impl FromStr for Millis {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.parse::<u64>() {
            Ok(number) => Self::try_from(number),
            Err(_) => Err(ValueError(format!("{text:?} is no number of milliseconds"))),
        }
    }
}

/// A password; never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Box<str>);

/// What is shown in the place of a secret.
pub(crate) const MASK: &str = "********";

impl Secret {
    /// Gives it to a client.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The usual message would show what stands there.
        deserializer.deserialize_any(SecretVisitor)
    }
}

struct SecretVisitor;

const NO_SECRET: &str = "expected a text in quotes that is not empty";

impl<'de> de::Visitor<'de> for SecretVisitor {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Secret, E> {
        if text.is_empty() { Err(E::custom(NO_SECRET)) } else { Ok(Secret(text.into())) }
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Secret, E> {
        Err(E::custom(NO_SECRET))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Secret, E> {
        Err(E::custom(NO_SECRET))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Secret, E> {
        Err(E::custom(NO_SECRET))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Secret, E> {
        Err(E::custom(NO_SECRET))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, _: A) -> Result<Secret, A::Error> {
        Err(de::Error::custom(NO_SECRET))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, _: A) -> Result<Secret, A::Error> {
        Err(de::Error::custom(NO_SECRET))
    }
}

/// The root of a server, without credentials.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Url(Box<str>);

impl Url {
    /// Gives the text, without a slash at its end.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Url {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        match host {
            Some("") | None => Err(ValueError(
                "expected an address that begins with http:// or https://".to_owned(),
            )),
            Some(host) if host.contains('@') => Err(ValueError(
                "the address holds a user or password: give them as username and password"
                    .to_owned(),
            )),
            Some(_) => Ok(Self(text.trim_end_matches('/').into())),
        }
    }
}

/// A running server that may be attached to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    /// Its root.
    pub(crate) url: Url,
    /// Its user; the agent's default when it is not given.
    pub(crate) username: Option<Box<str>>,
    /// Its password.
    pub(crate) password: Option<Secret>,
}
