//! How is a history read in which one message cannot be? Around that message.
//!
//! Source: opencode-ai 1.18.33 answers 400 for ever to reads that touch a user message with an output
//! format (anomalyco/opencode issues 26929 and 40169): to that of the message alone, and to a page
//! that has nothing older behind it. Other pages give it as it is, so smaller ones are asked for
//! first; what is left is that message as the oldest of its session. The server takes cursors that
//! it did not make. Without the database only the time of that message has to be found; its id is
//! in the answer to it.

use harness::{Cursor, Page, ReachError, Seen, Source};
use opencode_wire::Message;
use receipts::{Gap, MessageId, Observation};
use serde::{Deserialize, Serialize};
use verbatim::RawValue;

use crate::{
    cursor::Key,
    http::{GetError, Route},
    read::page_route,
    server::{Known, Server},
};

/// Later than every message: the largest time of 13 digits.
const TIME_MAX: i64 = 9_999_999_999_999;

#[derive(Serialize)]
struct Placeholder<'a> {
    info: PlaceholderInfo<'a>,
    parts: [(); 0],
}

#[derive(Serialize)]
struct PlaceholderInfo<'a> {
    id: &'a str,
    #[serde(rename = "sessionID")]
    session: &'a str,
    role: &'static str,
    time: PlaceholderTime,
}

#[derive(Serialize)]
struct PlaceholderTime {
    created: i64,
}

#[derive(Deserialize)]
struct Updated {
    time: UpdatedTime,
}

#[derive(Deserialize)]
struct UpdatedTime {
    updated: i64,
}

impl Server {
    /// Gives a page that stands for the one message right before the cursor, which cannot be read,
    /// and goes on below it.
    pub(crate) async fn page_around(
        &self,
        known: &Known,
        before: Option<&Cursor>,
        error: ReachError,
    ) -> Result<Page, ReachError> {
        let key = match before.map(Key::decode) {
            Some(Some(key)) => Some(key),
            // A cursor of another form cannot be worked with.
            Some(None) => return Err(error),
            None => None,
        };
        let created = self.time_of_unreadable(known, key.as_ref()).await?;
        let id = match &key {
            Some(key) => self.parent_of(known, &key.id).await,
            None => None,
        };
        let seen = placeholder(known, id, created, &error);
        Ok(Page { seen: vec![seen], older: Some(Key::at(created).encode()), source: Source::Live })
    }

    /// Finds when the newest message below a key was created, which is one that cannot be read.
    async fn time_of_unreadable(
        &self,
        known: &Known,
        key: Option<&Key>,
    ) -> Result<i64, ReachError> {
        // Invariant: what is older than `high` ends in the message, what is older than `low` does not.
        let mut high = match key {
            Some(key) if self.is_readable(known, key.time).await? => return Ok(key.time),
            Some(key) => key.time,
            None => match self.updated(known).await {
                Some(updated) if !self.is_readable(known, updated + 1).await? => updated + 1,
                Some(_) | None => TIME_MAX,
            },
        };
        // In growing steps, not by halves: a second unreadable message further down must not be
        // taken for this one.
        let mut step = 1;
        let mut low = loop {
            let low = (high - step).max(0);
            if low == 0 || self.is_readable(known, low).await? {
                break low;
            }
            high = low;
            step += step / 2 + 1;
        };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.is_readable(known, middle).await? {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Tells whether the newest message that is older than a time can be read.
    async fn is_readable(&self, known: &Known, time: i64) -> Result<bool, ReachError> {
        let route = page_route(&known.row.thread, Some(&Key::at(time).encode()), 1);
        match self.http.get(&route).await {
            Ok(_) => Ok(true),
            Err(GetError::Poisoned(_)) => Ok(false),
            Err(error) => Err(error.into_reach()),
        }
    }

    async fn updated(&self, known: &Known) -> Option<i64> {
        let route = Route::get(["session", known.row.thread.as_str()]);
        let answer = self.http.get(&route).await.ok()?;
        let session: Updated = serde_json::from_str(&answer.body).ok()?;
        Some(session.time.updated)
    }

    /// The prompt of an answer, when it is the message that cannot be read.
    async fn parent_of(&self, known: &Known, answer: &str) -> Option<MessageId> {
        let route = |id: &str| Route::get(["session", known.row.thread.as_str(), "message", id]);
        let answer = self.http.get(&route(answer)).await.ok()?;
        let raw = RawValue::from_string(answer.body).ok()?;
        let message = Message::decode(&raw);
        let parent = MessageId::new(&**message.info.parent_id.get()?).ok()?;
        match self.http.get(&route(parent.as_str())).await {
            Err(GetError::Poisoned(_)) => Some(parent),
            Ok(_) | Err(_) => None,
        }
    }
}

fn placeholder(known: &Known, id: Option<MessageId>, created: i64, error: &ReachError) -> Seen {
    let gap = |message| Gap::Unreadable {
        message,
        path: "$".to_owned(),
        problem: format!("the server cannot give the message of {created}: {error}"),
    };
    let observation = match id {
        Some(id) => {
            let json = Placeholder {
                info: PlaceholderInfo {
                    id: id.as_str(),
                    session: known.row.thread.as_str(),
                    role: "user",
                    time: PlaceholderTime { created },
                },
                parts: [],
            };
            let raw = serde_json::value::to_raw_value(&json)
                .expect("a struct of texts and numbers becomes JSON");
            let mut observation = known.translator.raw(&raw);
            if let Observation::Message(message) = &mut observation {
                message.gaps.push(gap(Some(id)));
            }
            observation
        }
        None => Observation::Gap(gap(None)),
    };
    Seen { observation, evidence: None }
}
