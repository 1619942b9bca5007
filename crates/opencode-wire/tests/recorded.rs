//! Is every recorded event of the real server read, and every kind of them known for what it is?

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use opencode_wire::Event;
use serde::Deserialize;
use verbatim::RawValue;

#[derive(Deserialize)]
struct Recorded<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    /// Of a row of the journal, which is no event of a stream.
    seq: Option<u64>,
}

/// The lists of events in a recording; `/event` gives bare payloads, `/global/event` envelopes.
fn events(text: &str) -> Vec<String> {
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(text).expect("a recording is an object");
    let lists = ["events", "global_event_sample", "other_dir_event_sample", "default_event_sample"];
    fields
        .iter()
        .filter(|(name, _)| lists.contains(&name.as_str()))
        .filter_map(|(_, raw)| serde_json::from_str::<Vec<Recorded<'_>>>(raw.get()).ok())
        .flatten()
        .filter(|event| event.seq.is_none())
        .map(|event| match event.data.get().contains("\"payload\"") {
            true => event.data.get().to_owned(),
            false => format!("{{\"payload\":{}}}", event.data.get()),
        })
        .collect()
}

#[test]
fn every_recorded_event_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode");
    let mut unknown = BTreeSet::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        for data in events(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            let event = Event::decode(&data);
            match event.unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
                Event::Unknown { kind } => {
                    unknown.insert(kind);
                }
                Event::Connected
                | Event::Heartbeat
                | Event::Disposed { .. }
                | Event::Sync { .. }
                | Event::Session(_)
                | Event::SessionDeleted { .. }
                | Event::Message { .. }
                | Event::MessageRemoved { .. }
                | Event::Part(_)
                | Event::PartRemoved { .. }
                | Event::Delta(_)
                | Event::Status { .. }
                | Event::Idle { .. }
                | Event::Error { .. }
                | Event::Asked(_)
                | Event::Answered { .. } => {}
            }
        }
    }
    assert!(count > 1000, "the recordings are there: {count} events");
    // What these kinds tell is told by others too.
    let expected = ["command.executed", "session.compacted", "session.diff"];
    assert_eq!(unknown.iter().map(|kind| &**kind).collect::<Vec<_>>(), expected);
}
