//! What may be asked of storage: the traits, their values and errors.
//!
//! [`Ledger`] reads and [`LedgerWrite`] writes what is known of sessions, inputs, drivers, requests
//! and turns; a [`Store`] runs them in transactions, and a [`Writer`] commits the works of many
//! threads together. Rules are named as in the ledger's documentation (L1, F5, ...).
//!
//! A backend keeps typed rows: it implements [`Rows`] and [`RowsMut`], and has the ledger's rules
//! with that. [`MemoryStore`] is the plainest one. What every backend must show is the suite in
//! `conformance`, a module behind the feature of that name.
//!
//! ```
//! use std::sync::Arc;
//!
//! use receipts::{SessionId, UnixMillis};
//! use store::{HarnessName, Labels, MemoryStore, NewSession, Writer};
//!
//! let writer = Writer::new(Arc::new(MemoryStore::new()));
//! let session = NewSession {
//!     id: SessionId::new("review")?,
//!     harness: HarnessName::new("opencode")?,
//!     created_at: UnixMillis(1_796_071_237_000),
//!     workdir: None,
//!     title: None,
//!     labels: Labels::none(),
//! };
//! let id = session.id.clone();
//! let created = writer.update(move |ledger| ledger.create_session(&session))?;
//! assert_eq!(writer.view(|ledger| ledger.session(&id))?, Some(created));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
#[cfg(feature = "conformance")]
pub mod conformance;
mod driver;
mod effect;
mod error;
mod event;
mod exec;
mod input;
mod intent;
mod ledger;
mod memory;
mod report;
mod rows;
mod rules;
mod selection;
mod session;
mod text;
mod writer;

pub use call::{Call, CallOwner, Scope, Sighting};
pub use driver::{Driver, Generation, ProcessIdentity, Provider, ProviderGeneration};
pub use effect::{Attempt, Effect, Stage};
pub use error::{Current, NotSelectable, Refusal, Source, StoreError};
pub use event::{Event, EventBody, EvidenceDigest, Recorded, Seq};
pub use exec::{Exec, ExecEnd, ExecOutcome, NewExec};
pub use input::{Capture, Captured, Input};
pub use intent::{Delivery, Dispatch, Intent, NewIntent, Origin, Purpose, Reply};
pub use ledger::{Access, Batch, Ledger, LedgerWrite, ReadWork, Result, Store, WriteWork};
pub use memory::MemoryStore;
pub use report::{
    Activity, Coverage, InputReport, OpenTurn, TurnReport, UsageBy, UsageGroup, Violation,
};
pub use rows::{EventId, NewEvent, Rows, RowsMut, TurnRow, TurnState};
pub use rules::{EVIDENCE_BYTES_MAX, OUTPUT_BYTES_MAX, derive_owners};
pub use selection::{NewSelection, Position, SelectedTurn, SelectionState, TurnSelection};
pub use session::{CurrentInput, NewSession, Session};
pub use text::{Endpoint, FlowName, HarnessName, Labels, Work};
pub use writer::Writer;
