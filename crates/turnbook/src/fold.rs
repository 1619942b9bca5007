//! `turnbook fold opencode`: what does a history say, without a store?

use std::{collections::BTreeSet, fs, io::Read as _, path::Path};

use anyhow::Context as _;
use opencode_wire::{History, Translator, Undecodable};
use receipts::{Gap, MessageId, Observation, Owner, Receipt, Thread, ThreadId, Usage};

use crate::{
    args::{FoldOpencode, OwnerArg},
    exit::Failure,
    print,
};

/// The folded history of a session and of those that it started.
#[derive(Debug)]
pub(crate) struct Folded {
    /// The harness's id of the session; `None` when neither the file nor a message tells it.
    pub(crate) thread: Option<ThreadId>,
    /// One for each request, by time.
    pub(crate) receipts: Vec<Receipt>,
    /// Messages that a fork copied into this session; they count elsewhere.
    pub(crate) inherited: Vec<MessageId>,
    /// What did not fit and belongs to no request.
    pub(crate) gaps: Vec<Gap>,
    /// The sessions that it started.
    pub(crate) children: Vec<Self>,
    /// Own use.
    pub(crate) totals: Usage,
    /// Own use and that of the sessions that it started.
    pub(crate) inclusive: Usage,
}

/// Reads, folds and prints.
pub(crate) fn run(args: &FoldOpencode) -> Result<(), Failure> {
    let text = read(&args.file).map_err(Failure::BadInput)?;
    let history = History::decode(&text)
        .with_context(|| format!("{}: this is no OpenCode history", args.file.display()))
        .map_err(Failure::BadInput)?;
    let owner = match args.owner {
        OwnerArg::Busy => Owner::Busy,
        OwnerArg::Idle => Owner::Idle,
        OwnerArg::Dead => Owner::Dead,
        OwnerArg::Unknown => Owner::Unknown,
    };
    let folded = fold(&history, owner);
    let printed = if args.json { print::json(&folded) } else { print::table(&folded) };
    printed.map_err(Failure::Internal)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
    } else {
        bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{}: byte {at} is not UTF-8: expected a JSON text", path.display())
    })
}

/// Folds a history; what is known of the owner holds after the last reading.
pub(crate) fn fold(history: &History<'_>, owner: Owner) -> Folded {
    let thread_id = history.thread();
    // A fold needs some id; without one no message can belong to another session.
    let id = thread_id.clone().unwrap_or_else(unnamed);
    let translator = Translator::new(id.clone(), history.session.as_ref());
    let mut thread = Thread::new(id);
    // Between two readings the session may have been at work.
    thread.observe(Observation::Owner(Owner::Busy));
    for Undecodable { path, problem } in history.undecodable.iter().cloned() {
        thread.observe(Observation::Gap(Gap::Unreadable { message: None, path, problem }));
    }
    for intent in history.intents.iter().filter(|intent| intent.no_reply) {
        if let Ok(request) = MessageId::new(&*intent.request) {
            thread.observe(Observation::NoReply(request));
        }
    }
    let mut before = BTreeSet::new();
    for snapshot in &history.snapshots {
        let mut now = BTreeSet::new();
        for (at, raw) in snapshot.iter().enumerate() {
            let observation = placed(translator.raw(raw), at);
            if let Observation::Message(message) = &observation {
                now.insert(message.id.clone());
            }
            thread.observe(observation);
        }
        for gone in before.difference(&now) {
            thread.observe(Observation::Removed(gone.clone()));
        }
        before = now;
    }
    thread.observe(Observation::Owner(owner));
    let receipts = thread.receipts();
    let mut totals = thread.unattributed();
    for receipt in &receipts {
        totals.merge(&receipt.usage);
    }
    let children: Vec<Folded> = history.children.iter().map(|child| fold(child, owner)).collect();
    let mut inclusive = totals;
    let mut counted: BTreeSet<ThreadId> = thread_id.iter().cloned().collect();
    for child in &children {
        include(child, &mut counted, &mut inclusive);
    }
    Folded {
        thread: thread_id,
        receipts,
        inherited: thread.inherited(),
        gaps: thread.gaps(),
        children,
        totals,
        inclusive,
    }
}

/// Adds the use of a session and of those that it started, each once however often it is listed.
fn include(folded: &Folded, counted: &mut BTreeSet<ThreadId>, inclusive: &mut Usage) {
    let is_new = folded.thread.as_ref().is_none_or(|thread| counted.insert(thread.clone()));
    if is_new {
        inclusive.merge(&folded.totals);
        for child in &folded.children {
            include(child, counted, inclusive);
        }
    }
}

/// Says of a message without a readable id at which place of its list it stands.
fn placed(observation: Observation, at: usize) -> Observation {
    match observation {
        Observation::Gap(Gap::Unreadable { message: None, path, problem }) => {
            let path = format!("messages[{at}].{path}");
            Observation::Gap(Gap::Unreadable { message: None, path, problem })
        }
        other @ (Observation::Message(_)
        | Observation::Removed(_)
        | Observation::NoReply(_)
        | Observation::Owner(_)
        | Observation::Gap(_)) => other,
    }
}

fn unnamed() -> ThreadId {
    ThreadId::new("unnamed").expect("a constant that is neither empty nor long")
}
