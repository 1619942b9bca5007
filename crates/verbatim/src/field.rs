//! How does one wrong field not spoil its message? Typed fields that accept any shape.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        IgnoredAny, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::value::RawValue;

/// The shape of a JSON value that was found where another was expected; never the value itself,
/// which may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// `true` or `false`.
    Bool,
    /// A number below zero.
    Negative,
    /// A whole number.
    Integer,
    /// A number with a fraction, or too large to be kept exactly.
    Fraction,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Found {
    /// Gives the shape of a value; `None` for `null`, which is the same as nothing.
    #[must_use]
    pub fn of(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.as_bytes().first()? {
            b'n' => None,
            b't' | b'f' => Some(Self::Bool),
            b'"' => Some(Self::String),
            b'[' => Some(Self::Array),
            b'{' => Some(Self::Object),
            b'-' => Some(Self::Negative),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => Some(Self::Integer),
            _ => Some(Self::Fraction),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "a boolean",
            Self::Negative => "a negative number",
            Self::Integer => "a whole number",
            Self::Fraction => "a number with a fraction",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// A field that may be there, in the expected shape or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Field<T> {
    /// Not there, or `null`.
    #[default]
    Absent,
    /// There, as expected.
    Is(T),
    /// There, in another shape.
    Odd(Found),
}

impl<T> Field<T> {
    /// Gives the value where it has the expected shape.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Odd(_) => None,
        }
    }

    /// Takes the value where it has the expected shape.
    pub fn into_option(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Odd(_) => None,
        }
    }

    /// Takes the value, or the value of nothing after saying what was found instead; `None` is
    /// nothing at all.
    pub fn or_odd(self, odd: impl FnOnce(Option<Found>)) -> T
    where
        T: Default,
    {
        let found = match self {
            Self::Is(value) => return value,
            Self::Absent => None,
            Self::Odd(found) => Some(found),
        };
        odd(found);
        T::default()
    }

    /// Gives the shape that was found instead of the expected one.
    pub fn odd(&self) -> Option<Found> {
        match self {
            Self::Odd(found) => Some(*found),
            Self::Absent | Self::Is(_) => None,
        }
    }
}

/// A string, borrowed from the message where it holds no escape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Types that [`Field`] can hold: each says which shapes it takes.
trait Shape<'de>: Sized {
    #[expect(clippy::fn_params_excessive_bools, reason = "the value that was decoded")]
    fn bool(_: bool) -> Option<Self> {
        None
    }
    fn integer(_: u64) -> Option<Self> {
        None
    }
    fn signed(_: i64) -> Option<Self> {
        None
    }
    fn fraction(_: f64) -> Option<Self> {
        None
    }
    fn borrowed(_: &'de str) -> Option<Self> {
        None
    }
    fn text(_: &str) -> Option<Self> {
        None
    }
}

impl Shape<'_> for bool {
    fn bool(value: bool) -> Option<Self> {
        Some(value)
    }
}

/// The largest float below which every whole number is exact.
const EXACT_FLOAT_MAX: f64 = 9_007_199_254_740_992.0;

fn whole(value: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within the exact range")]
    (value.fract() == 0.0 && value.abs() <= EXACT_FLOAT_MAX).then_some(value as i64)
}

impl Shape<'_> for u64 {
    fn integer(value: u64) -> Option<Self> {
        Some(value)
    }

    fn fraction(value: f64) -> Option<Self> {
        whole(value).and_then(|value| Self::try_from(value).ok())
    }
}

impl Shape<'_> for i64 {
    fn integer(value: u64) -> Option<Self> {
        Self::try_from(value).ok()
    }

    fn signed(value: i64) -> Option<Self> {
        Some(value)
    }

    fn fraction(value: f64) -> Option<Self> {
        whole(value)
    }
}

impl<'de> Shape<'de> for Text<'de> {
    fn borrowed(value: &'de str) -> Option<Self> {
        Some(Self(Cow::Borrowed(value)))
    }

    fn text(value: &str) -> Option<Self> {
        Some(Self(Cow::Owned(value.to_owned())))
    }
}

struct Scalar<T>(PhantomData<T>);

impl<'de, T: Shape<'de>> Visitor<'de> for Scalar<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(T::bool(value).map_or(Field::Odd(Found::Bool), Field::Is))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(T::integer(value).map_or(Field::Odd(Found::Integer), Field::Is))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(T::signed(value).map_or(Field::Odd(Found::Negative), Field::Is))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        let odd = if value < 0.0 { Found::Negative } else { Found::Fraction };
        Ok(T::fraction(value).map_or(Field::Odd(odd), Field::Is))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(T::borrowed(value).map_or(Field::Odd(Found::String), Field::Is))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(T::text(value).map_or(Field::Odd(Found::String), Field::Is))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Field::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Field::Odd(Found::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Field::Odd(Found::Object))
    }
}

macro_rules! scalar_field {
    ($($kind:ty),*) => {$(
        impl<'de> Deserialize<'de> for Field<$kind> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Scalar::<$kind>(PhantomData))
            }
        }
    )*};
}

scalar_field!(bool, u64, i64);

impl<'de: 'a, 'a> Deserialize<'de> for Field<Text<'a>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar::<Text<'de>>(PhantomData)).map(|field| match field {
            Field::Is(Text(Cow::Borrowed(text))) => Field::Is(Text(Cow::Borrowed(text))),
            Field::Is(Text(Cow::Owned(text))) => Field::Is(Text(Cow::Owned(text))),
            Field::Absent => Field::Absent,
            Field::Odd(found) => Field::Odd(found),
        })
    }
}

/// Decodes a field that must be an object, for `#[serde(deserialize_with)]`.
impl<T> Field<T> {
    /// Takes an object as `T`, and any other shape as odd.
    ///
    /// # Errors
    ///
    /// What the deserializer itself cannot read.
    pub fn object<'de, D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        deserializer.deserialize_any(Object(PhantomData))
    }

    /// Takes an array as `T`, and any other shape as odd.
    ///
    /// # Errors
    ///
    /// What the deserializer itself cannot read.
    pub fn array<'de, D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        deserializer.deserialize_any(Array(PhantomData))
    }
}

macro_rules! odd_scalars {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Field::Odd(Found::Bool))
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Field::Odd(Found::Integer))
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Field::Odd(Found::Negative))
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Field::Odd(Found::Fraction))
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Field::Odd(Found::String))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Field::Absent)
        }
    };
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = Field<T>;

    odd_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Field::Odd(Found::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Field::Is)
    }
}

struct Array<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Array<T> {
    type Value = Field<T>;

    odd_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(seq)).map(Field::Is)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Field::Odd(Found::Object))
    }
}
