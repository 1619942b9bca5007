//! What may be asked of storage: the traits, their values and errors.
//!
//! [`Ledger`] reads and [`LedgerWrite`] writes what is known of sessions, inputs, drivers, requests
//! and turns; a [`Store`] runs them in transactions. [`MemoryStore`] is the strict memory model. The
//! conformance suite and the group commit are not built yet.

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
pub use report::{Coverage, InputReport, OpenTurn, TurnReport, UsageBy, UsageGroup, Violation};
pub use rows::{EventId, NewEvent, Rows, RowsMut, TurnRow, TurnState};
pub use rules::{EVIDENCE_BYTES_MAX, OUTPUT_BYTES_MAX};
pub use selection::{NewSelection, Position, SelectedTurn, SelectionState, TurnSelection};
pub use session::{CurrentInput, NewSession, Session};
pub use text::{Endpoint, FlowName, HarnessName, Labels, Work};
pub use writer::Writer;
