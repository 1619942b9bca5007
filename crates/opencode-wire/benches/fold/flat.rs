//! What would a message look like to a reader that trusts every field?

#![expect(dead_code, reason = "what counts is that the fields are decoded")]

use std::borrow::Cow;

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    info: Info<'a>,
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, rename = "sessionID")]
    session: Cow<'a, str>,
    #[serde(borrow)]
    role: Cow<'a, str>,
    time: Time,
    #[serde(borrow, rename = "parentID")]
    parent: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "modelID")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "providerID")]
    provider: Option<Cow<'a, str>>,
    cost: Option<f64>,
    tokens: Option<Tokens>,
    #[serde(borrow)]
    finish: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Time {
    created: i64,
    completed: Option<i64>,
}

#[derive(Deserialize)]
struct Tokens {
    total: Option<u64>,
    input: u64,
    output: u64,
    reasoning: u64,
    cache: Cache,
}

#[derive(Deserialize)]
struct Cache {
    read: u64,
    write: u64,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    synthetic: Option<bool>,
    #[serde(borrow)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow)]
    state: Option<State<'a>>,
    cost: Option<f64>,
    tokens: Option<Tokens>,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
}
