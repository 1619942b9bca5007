//! How is an object read that a strict reader refuses? With its flaws named, and the rest kept.
//!
//! JSON allows what serde does not: half of a surrogate pair in a string, a name that stands twice,
//! a number that no float holds. One of them must not cost the whole object, so that the object is
//! read again, member by member, when the strict reading in one pass fails.

use std::{borrow::Cow, collections::HashMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Error, value::RawValue};

use crate::redact::word;

/// Something in a JSON text that a strict reader refuses, and how it was read all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where, as a JSON path.
    pub path: String,
    /// What is wrong there.
    pub kind: FlawKind,
}

/// A way in which a JSON text can be flawed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlawKind {
    /// Half of a surrogate pair, read as U+FFFD.
    LoneSurrogate,
    /// A name that stands twice in its object; the last holds, as in JavaScript.
    DoubledName,
}

impl fmt::Display for FlawKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LoneSurrogate => "half of a surrogate pair, read as U+FFFD",
            Self::DoubledName => "the name stands twice, and the last holds",
        })
    }
}

/// Reads an object whose fields are all [`crate::Field`]s or raw; `path` says where it stands, and
/// goes before the paths of its flaws.
///
/// `None` when the value is no object. An array is none, although serde takes it for a struct.
pub fn read_object<'a, T: Deserialize<'a>>(
    raw: &'a RawValue,
    path: &str,
    flaws: &mut Vec<Flaw>,
) -> Option<T> {
    if !raw.get().starts_with('{') {
        return None;
    }
    match serde_json::from_str(raw.get()) {
        Ok(object) => Some(object),
        Err(_) => T::deserialize(Lenient { raw, path: path.to_owned(), flaws }).ok(),
    }
}

/// One value, of which only what is asked for is read.
struct Lenient<'a, 'f> {
    raw: &'a RawValue,
    path: String,
    flaws: &'f mut Vec<Flaw>,
}

impl<'a> Lenient<'a, '_> {
    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let Mended { text, is_whole } = serde_json::from_str(self.raw.get())?;
        if !is_whole {
            self.flaws.push(Flaw { path: self.path, kind: FlawKind::LoneSurrogate });
        }
        match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn object<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let Pairs(pairs) = serde_json::from_str(self.raw.get())?;
        let mut members: Vec<(Cow<'a, str>, &'a RawValue)> = Vec::with_capacity(pairs.len());
        let mut known: HashMap<Cow<'a, str>, usize> = HashMap::with_capacity(pairs.len());
        for (Mended { text: name, is_whole }, value) in pairs {
            let path = || member_path(&self.path, &word(&name));
            if !is_whole {
                self.flaws.push(Flaw { path: path(), kind: FlawKind::LoneSurrogate });
            }
            if let Some((_, last)) = known.get(&name).and_then(|at| members.get_mut(*at)) {
                self.flaws.push(Flaw { path: path(), kind: FlawKind::DoubledName });
                *last = value;
            } else {
                known.insert(name.clone(), members.len());
                members.push((name, value));
            }
        }
        let members = members.into_iter();
        visitor.visit_map(Members { members, value: None, path: self.path, flaws: self.flaws })
    }

    fn array<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let elements: Vec<&'a RawValue> = serde_json::from_str(self.raw.get())?;
        let elements = elements.into_iter().enumerate();
        visitor.visit_seq(Elements { elements, path: self.path, flaws: self.flaws })
    }
}

fn member_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl<'de> Deserializer<'de> for Lenient<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.raw.get();
        match text.as_bytes().first() {
            Some(b'{') => self.object(visitor),
            Some(b'[') => self.array(visitor),
            Some(b'"') => self.text(visitor),
            Some(b'-' | b'0'..=b'9') => match text.parse::<f64>() {
                // The strict reader has no number for it.
                Ok(number) if number.is_infinite() => visitor.visit_f64(number),
                Ok(_) | Err(_) => self.raw.deserialize_any(visitor),
            },
            Some(_) | None => self.raw.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.raw.get() {
            "null" => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// The one such type here is [`RawValue`], which stays the text that it is.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.raw.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier
    }
}

struct Members<'a, 'f> {
    members: std::vec::IntoIter<(Cow<'a, str>, &'a RawValue)>,
    value: Option<(String, &'a RawValue)>,
    path: String,
    flaws: &'f mut Vec<Flaw>,
}

impl<'a> MapAccess<'a> for Members<'a, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        let key = seed.deserialize((&*name).into_deserializer())?;
        self.value = Some((member_path(&self.path, &word(&name)), value));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (path, raw) = self.value.take().ok_or_else(|| Error::custom("a value has no name"))?;
        seed.deserialize(Lenient { raw, path, flaws: self.flaws })
    }
}

struct Elements<'a, 'f> {
    elements: std::iter::Enumerate<std::vec::IntoIter<&'a RawValue>>,
    path: String,
    flaws: &'f mut Vec<Flaw>,
}

impl<'a> SeqAccess<'a> for Elements<'a, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some((at, raw)) = self.elements.next() else { return Ok(None) };
        let path = format!("{}[{at}]", self.path);
        seed.deserialize(Lenient { raw, path, flaws: self.flaws }).map(Some)
    }
}

/// The members of an object as they stand, the same name as often as it stands there.
struct Pairs<'a>(Vec<(Mended<'a>, &'a RawValue)>);

impl<'a> Deserialize<'a> for Pairs<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'a> Visitor<'a> for All {
            type Value = Pairs<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// A string with U+FFFD in the place of each half of a surrogate pair.
struct Mended<'a> {
    text: Cow<'a, str>,
    is_whole: bool,
}

/// The first byte of a surrogate in UTF-8; the other two cannot begin anything.
const SURROGATE: u8 = 0xED;

impl Mended<'_> {
    fn of(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut is_whole = true;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            is_whole &= chunk.invalid().is_empty();
            if chunk.invalid().first() == Some(&SURROGATE) {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Self { text: Cow::Owned(text), is_whole }
    }
}

impl<'a> Deserialize<'a> for Mended<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'a> Visitor<'a> for Bytes {
            type Value = Mended<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'a [u8]) -> Result<Self::Value, E> {
                Ok(match std::str::from_utf8(bytes) {
                    Ok(text) => Mended { text: Cow::Borrowed(text), is_whole: true },
                    Err(_) => Mended::of(bytes),
                })
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Mended::of(bytes))
            }
        }
        // Asked for bytes, the strict reader lets a lone surrogate through.
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::value::RawValue;

    use super::{Flaw, FlawKind, read_object};
    use crate::{Field, Found, Text};

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner<'a> {
        #[serde(borrow)]
        word: Field<Text<'a>>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Outer<'a> {
        count: Field<u64>,
        #[serde(borrow, deserialize_with = "Field::object")]
        inner: Field<Inner<'a>>,
        #[serde(borrow, deserialize_with = "Field::array")]
        list: Field<Vec<Field<Text<'a>>>>,
        #[serde(borrow)]
        raw: Option<&'a RawValue>,
    }

    fn flaw(path: &str, kind: FlawKind) -> Flaw {
        Flaw { path: path.to_owned(), kind }
    }

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn f10_flaws_are_named_and_the_rest_is_read() {
        let text = r#"{"count":1,"count":2,"inner":{"word":"a\ud800b","\udc00":1},
            "list":["x","\ud83d"],"raw":{"kept":"\ud800", "as":1e400}}"#;
        let mut flaws = Vec::new();
        let read: Outer<'_> = read_object(raw(text), "at", &mut flaws).unwrap();
        assert_eq!(read.count, Field::Is(2));
        assert_eq!(read.inner, Field::Is(Inner { word: Field::Is(Text("a\u{fffd}b".into())) }));
        let list = ["x", "\u{fffd}"].map(|text| Field::Is(Text(text.into())));
        assert_eq!(read.list, Field::Is(list.to_vec()));
        assert_eq!(read.raw.unwrap().get(), r#"{"kept":"\ud800", "as":1e400}"#);
        let expected = [
            flaw("at.count", FlawKind::DoubledName),
            flaw("at.inner.\u{fffd}", FlawKind::LoneSurrogate),
            flaw("at.inner.word", FlawKind::LoneSurrogate),
            flaw("at.list[1]", FlawKind::LoneSurrogate),
        ];
        assert_eq!(flaws, expected);
    }

    #[test]
    fn f10_a_number_that_no_float_holds_is_odd() {
        let mut flaws = Vec::new();
        let read: Outer<'_> = read_object(raw(r#"{"count":1e400}"#), "", &mut flaws).unwrap();
        assert_eq!((read.count, flaws), (Field::Odd(Found::Fraction), Vec::new()));
    }

    #[test]
    fn f10_an_array_is_no_object() {
        assert!(read_object::<Outer<'_>>(raw("[1,{}]"), "", &mut Vec::new()).is_none());
    }
}
