//! What does the fold cost beside the bare decoding of the same bytes, and does a changed message
//! cost more in a long session than in a short one?
//!
//! The time of `whole::folded` over that of `whole::decoded` is the ratio that is to stay at or
//! below 1.3. `whole::flat` is how fast a reader could be that trusts every field.

mod flat;
mod recorded;
mod session;

use divan::Bencher;
use opencode_wire::{History, Message, Translator};
use receipts::{Observation, Thread};
use verbatim::RawValue;

fn main() {
    divan::main();
}

/// How long the text of a history of a thousand messages is, in kilobytes.
const KILOBYTES: [usize; 3] = [1_200, 4_600, 23_000];

#[divan::bench_group(sample_count = 40, sample_size = 1)]
mod whole {
    use super::{
        Bencher, History, KILOBYTES, Message, Observation, RawValue, Thread, Translator, flat,
        recorded,
    };

    /// From the text to the facts and the receipts.
    #[divan::bench(args = KILOBYTES)]
    fn folded(bencher: Bencher<'_, '_>, kilobytes: usize) {
        let text = recorded::history(kilobytes * 1_000);
        bencher.bench(|| {
            let mut thread = Thread::new(recorded::thread());
            let history = History::decode(&text).expect("the history is sound");
            let translator = Translator::new(recorded::thread(), None);
            for raw in history.snapshots.iter().flatten() {
                thread.observe(translator.raw(raw));
            }
            thread.observe(Observation::Owner(receipts::Owner::Idle));
            (thread.take_facts().len(), thread.receipts().len())
        });
    }

    /// The list is split, and the `info` of each message and each of its raw parts decoded once.
    #[divan::bench(args = KILOBYTES)]
    fn decoded(bencher: Bencher<'_, '_>, kilobytes: usize) {
        let text = recorded::history(kilobytes * 1_000);
        bencher.bench(|| {
            let list: Vec<&RawValue> = serde_json::from_str(&text).expect("the history is a list");
            let parts = |raw| divan::black_box(Message::decode(raw)).parts.len();
            list.into_iter().map(parts).sum::<usize>()
        });
    }

    /// One pass into structs of plain fields, where one odd field would spoil the whole.
    #[divan::bench(args = KILOBYTES)]
    fn flat(bencher: Bencher<'_, '_>, kilobytes: usize) {
        let text = recorded::history(kilobytes * 1_000);
        bencher.bench(|| {
            let list: Vec<flat::Message<'_>> =
                serde_json::from_str(&text).expect("the history has plain fields");
            divan::black_box(list).len()
        });
    }
}

/// How many messages stand in the session.
const MESSAGES: [usize; 2] = [100, 100_000];

#[divan::bench_group(sample_count = 100, sample_size = 100)]
mod one_changed_message {
    use super::{Bencher, MESSAGES, session::Session};

    /// The answer that is being written, as a client sees it all the time.
    #[divan::bench(args = MESSAGES)]
    fn the_last(bencher: Bencher<'_, '_>, messages: usize) {
        let mut session = Session::with(messages);
        bencher.bench_local(|| session.change(messages / 2 - 1));
    }

    /// An old answer, as a late read brings it.
    #[divan::bench(args = MESSAGES)]
    fn one_in_the_middle(bencher: Bencher<'_, '_>, messages: usize) {
        let mut session = Session::with(messages);
        bencher.bench_local(|| session.change(messages / 4));
    }
}

/// How often a run is compacted.
const LOOPS: [usize; 3] = [200, 2_000, 20_000];

/// The time for each of the loops is to stay the same.
#[divan::bench_group(sample_count = 5, sample_size = 1)]
mod compaction_loops {
    use divan::counter::ItemsCount;

    use super::{
        Bencher, LOOPS, Thread, recorded,
        session::{self, Order},
    };

    /// The whole history is seen, and then folded.
    fn at_once(bencher: Bencher<'_, '_>, loops: usize, order: Order) {
        bencher
            .counter(ItemsCount::new(loops))
            .with_inputs(|| session::loops(loops, order))
            .bench_local_values(|history| {
                let mut thread = Thread::new(recorded::thread());
                for observation in history {
                    thread.observe(observation);
                }
                thread.take_facts().len()
            });
    }

    #[divan::bench(args = LOOPS)]
    fn oldest_first(bencher: Bencher<'_, '_>, loops: usize) {
        at_once(bencher, loops, Order::OldestFirst);
    }

    #[divan::bench(args = LOOPS)]
    fn newest_first(bencher: Bencher<'_, '_>, loops: usize) {
        at_once(bencher, loops, Order::NewestFirst);
    }

    /// The facts are taken after each message, as a client that follows does.
    #[divan::bench(args = LOOPS)]
    fn followed(bencher: Bencher<'_, '_>, loops: usize) {
        bencher
            .counter(ItemsCount::new(loops))
            .with_inputs(|| session::loops(loops, Order::OldestFirst))
            .bench_local_values(|history| {
                let mut thread = Thread::new(recorded::thread());
                let facts = |observation| {
                    thread.observe(observation);
                    thread.take_facts().len()
                };
                history.into_iter().map(facts).sum::<usize>()
            });
    }
}
