//! What does a gap mean for whoever reads the figures?

use receipts::Gap;

/// Says in words what follows from a gap; the gap itself says what happened.
pub(super) fn meaning(gap: &Gap) -> &'static str {
    match gap {
        Gap::MissingTime { .. } => "it is sorted before all others",
        Gap::ClockStep { .. } => "a clock was set back; the duration is not known",
        Gap::Unreadable { .. } => "the rest of it was read and counts",
        Gap::UnknownFinish { .. } => "nothing ran any more, so it is taken as an end",
        Gap::DanglingParent { .. } | Gap::NoParent { .. } => "its usage is kept without an owner",
        Gap::UnknownUsage { .. } => "the totals are a lower bound",
        Gap::Decrease { .. } => "the higher figure is kept",
        Gap::Overflow { .. } => "that total is unknown",
        Gap::NeverClosed { .. } => "what it used is not known",
        Gap::Contradiction { .. } => "what was seen first holds",
        Gap::Removed { .. } => "what was recorded of it stays",
        Gap::Overwritten { .. } => "what was recorded of the answer stays",
        _ => "how far the figures hold is not known",
    }
}
