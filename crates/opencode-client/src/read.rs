//! How is a history read? Singly or by pages with a bound, never as a whole.

use std::sync::Arc;

use harness::{Cursor, Evidence, Page, Place, ReachError, Seen, Source};
use opencode_wire::decode_messages;
use receipts::{Gap, MessageId, Observation, ThreadId};
use serde::Deserialize;
use verbatim::RawValue;

use crate::{
    cursor::Key,
    database::{StoredMessage, StoredPage},
    http::{Answer, GetError, Route},
    server::{Known, Server},
};

/// The sort key of a message, in its row.
#[derive(Deserialize)]
struct RowKey {
    time: RowTime,
}

#[derive(Deserialize)]
struct RowTime {
    created: i64,
}

impl Server {
    /// Reads the newest page, or the one before a cursor, of at most `limit` messages.
    pub(crate) async fn page(
        &self,
        thread: &ThreadId,
        before: Option<&Cursor>,
        limit: u32,
    ) -> Result<Page, ReachError> {
        let known = self.known(thread).await?;
        let mut limit = limit.clamp(1, self.http.limits.page);
        let mut attempts = 0;
        loop {
            let route = page_route(thread, before, limit);
            let error = match self.http.get_once(&route).await {
                Ok(answer) => return self.page_of(&known, &route.place(), &answer),
                Err(error) => error,
            };
            attempts += 1;
            match error {
                GetError::TooLarge(_) if limit > 1 => limit /= 2,
                // A page that takes too long is asked for again, smaller.
                GetError::Reach(error)
                    if error.is_transient() && attempts < self.http.limits.read_attempts =>
                {
                    limit = if limit > 4 { limit / 4 } else { limit };
                    let pause = std::time::Duration::from_millis(100) * attempts;
                    tokio::time::sleep(pause).await;
                }
                GetError::Poisoned(error) => {
                    if let Some(Ok(page)) = self.stored_page(&known, before, limit).await {
                        return Ok(page);
                    }
                    if limit == 1 {
                        return self.page_around(&known, before, error).await;
                    }
                    limit /= 2;
                }
                GetError::Reach(error) | GetError::TooLarge(error) => {
                    if error.is_transient()
                        && let Some(page) = self.stored_page(&known, before, limit).await
                    {
                        tracing::warn!(%error, "read the database instead");
                        return page;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Reads one message; `info` is its row as it was told live, for when it cannot be read.
    pub(crate) async fn message(
        &self,
        thread: &ThreadId,
        message: &MessageId,
        info: Option<&str>,
    ) -> Result<Option<Seen>, ReachError> {
        let known = self.known(thread).await?;
        let route = Route::get(["session", thread.as_str(), "message", message.as_str()]);
        let place = route.place();
        match self.http.get(&route).await {
            Ok(answer) => match RawValue::from_string(answer.body) {
                Ok(raw) => Ok(Some(self.seen(&known, &raw))),
                Err(error) => Err(ReachError::Protocol { place, why: error.to_string() }),
            },
            Err(GetError::Poisoned(error)) => {
                self.message_around(&known, message, info).await.map(Some).ok_or(error)
            }
            Err(GetError::Reach(ReachError::NotFound { .. })) => Ok(None),
            Err(error) => {
                let error = error.into_reach();
                match error.is_transient() {
                    true => self.stored_message(&known, message).await.unwrap_or(Err(error)),
                    false => Err(error),
                }
            }
        }
    }

    /// Gives a message that the server refuses to give alone; `None` where nothing else has it.
    ///
    /// Source: opencode-ai 1.18.33 gives it in a page that has older messages behind it.
    async fn message_around(
        &self,
        known: &Arc<Known>,
        message: &MessageId,
        info: Option<&str>,
    ) -> Option<Seen> {
        if let Some(Ok(Some(seen))) = self.stored_message(known, message).await {
            return Some(seen);
        }
        let info = info?;
        let row: RowKey = serde_json::from_str(info).ok()?;
        let above = Key::above(message.as_str(), row.time.created).encode();
        let route = page_route(&known.row.thread, Some(&above), 1);
        if let Ok(answer) = self.http.get(&route).await
            && let Ok(page) = self.page_of(known, &route.place(), &answer)
            && let Some(seen) = page.seen.into_iter().find(|seen| is_of(seen, message))
        {
            return Some(seen);
        }
        let told = RawValue::from_string(format!("{{\"info\":{info},\"parts\":[]}}")).ok()?;
        Some(self.seen(known, &told))
    }

    /// Redacts a message and translates what is left, so that the same text folds again to the same.
    pub(crate) fn seen(&self, known: &Known, raw: &RawValue) -> Seen {
        let text = self.http.redactor.redact(raw.get());
        match RawValue::from_string(text.clone().into_owned()) {
            Ok(raw) => Seen {
                observation: known.translator.raw(&raw),
                evidence: Some(Evidence::redacted(text.into_owned())),
            },
            // Redaction left no JSON: the message is translated, and what it was is not kept.
            Err(_) => Seen { observation: known.translator.raw(raw), evidence: None },
        }
    }

    fn page_of(&self, known: &Known, place: &Place, answer: &Answer) -> Result<Page, ReachError> {
        let messages = decode_messages(&answer.body).map_err(|error| ReachError::Protocol {
            place: place.clone(),
            why: error.to_string(),
        })?;
        Ok(Page {
            seen: messages.into_iter().map(|raw| self.seen(known, raw)).collect(),
            older: answer.next.as_deref().map(Cursor::new),
            source: Source::Live,
        })
    }

    async fn stored_page(
        &self,
        known: &Arc<Known>,
        before: Option<&Cursor>,
        limit: u32,
    ) -> Option<Result<Page, ReachError>> {
        let (thread, before) = (known.row.thread.clone(), before.cloned());
        let read = self.stored(move |database| database.page(&thread, before.as_ref(), limit));
        Some(read.await?.map(|StoredPage { messages, older }| {
            let seen = messages.iter().map(|message| self.seen_stored(known, message)).collect();
            Page { seen, older, source: Source::Files }
        }))
    }

    async fn stored_message(
        &self,
        known: &Arc<Known>,
        message: &MessageId,
    ) -> Option<Result<Option<Seen>, ReachError>> {
        let (thread, message) = (known.row.thread.clone(), message.clone());
        let read = self.stored(move |database| database.message(&thread, &message));
        let found = read.await?;
        Some(found.map(|found| found.map(|message| self.seen_stored(known, &message))))
    }

    fn seen_stored(&self, known: &Known, message: &StoredMessage) -> Seen {
        if let Some(raw) = &message.json {
            return self.seen(known, raw);
        }
        let gap = Gap::Unreadable {
            message: MessageId::new(&message.id).ok(),
            path: "$".to_owned(),
            problem: "what the database holds is no JSON".to_owned(),
        };
        Seen { observation: Observation::Gap(gap), evidence: None }
    }
}

fn is_of(seen: &Seen, id: &MessageId) -> bool {
    matches!(&seen.observation, Observation::Message(message) if message.id == *id)
}

pub(crate) fn page_route(thread: &ThreadId, before: Option<&Cursor>, limit: u32) -> Route {
    Route::get(["session", thread.as_str(), "message"])
        .query("limit", Some(limit.to_string()))
        .query("before", before.map(Cursor::as_str))
}
