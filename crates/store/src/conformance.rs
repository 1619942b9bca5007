//! Does a backend keep the contract? The cases that each of them must pass.
//!
//! A backend's test file is one line: [`conformance_tests!`](crate::conformance_tests) makes a test
//! of each case. A case is named for what it holds, and its documentation names the rule. After it
//! the store must find nothing wrong with itself, and say the same once it is closed and opened
//! again.
//!
//! `TURNBOOK_CASES` sets how many generated ledgers each law is tried on, `TURNBOOK_SEED` which.

#![expect(clippy::missing_panics_doc, reason = "a case panics where the backend breaks a rule")]
#![expect(clippy::indexing_slicing, reason = "what is missing fails the case")]
#![expect(clippy::cloned_ref_to_slice_refs, reason = "a list is compared with a list")]
#![expect(clippy::wildcard_enum_match_arm, reason = "what is not expected fails the case")]

use std::sync::Arc;

use crate::Store;

mod bench;
pub mod effect;
pub mod event;
pub mod law;
pub mod recovery;
pub mod request;
pub mod selection;
pub mod session;
pub mod story;
pub mod turn;
pub mod usage;
pub mod writer;

pub use bench::Bench;

/// Opens the store of one place: the first time an empty one, later what it kept.
pub type Open = Box<dyn Fn() -> Arc<dyn Store>>;

/// A case by name.
pub type Case = (&'static str, fn(&mut Bench<'_>));

/// Runs all cases, each on a place of its own.
///
/// # Panics
///
/// When a case finds a rule broken.
pub fn run(new: &dyn Fn() -> Open) {
    for (_, case) in CASES {
        check(new, *case);
    }
}

/// Runs one case on a new place.
///
/// # Panics
///
/// When the case finds a rule broken.
pub fn check(new: &dyn Fn() -> Open, case: fn(&mut Bench<'_>)) {
    let mut bench = Bench::new(new);
    case(&mut bench);
    let before = bench.dump();
    assert_eq!(bench.read(|ledger| ledger.verify()), [], "the store keeps its own laws");
    bench.reopen();
    assert_eq!(bench.dump(), before, "everything survives");
    assert_eq!(bench.read(|ledger| ledger.verify()), [], "it keeps them once it is opened again");
}

/// Lists the cases as data, and as tests of whoever calls the macro that this defines.
macro_rules! cases {
    (($d:tt) $($module:ident { $($name:ident)* })*) => {
        /// Every case.
        pub const CASES: &[Case] = &[$($((stringify!($name), $module::$name),)*)*];

        /// Makes a test of each case of the conformance suite.
        ///
        /// Takes a function that makes a new place and gives what opens the store there:
        /// `fn place() -> impl Fn() -> Arc<dyn Store> + 'static`.
        #[macro_export]
        macro_rules! conformance_tests {
            ($d place:expr) => {
                $(mod $module {
                    use super::*;
                    $(
                        #[test]
                        fn $name() {
                            $d crate::conformance::check(
                                &|| ::std::boxed::Box::new($d place()),
                                $d crate::conformance::$module::$name,
                            );
                        }
                    )*
                })*
            };
        }
    };
}

cases! { ($)
    session {
        a_session_is_created_once
        another_session_of_one_id_is_a_conflict
        sessions_are_listed_as_they_were_created
        a_thread_belongs_to_one_session
        an_input_replaces_the_one_that_was_expected
        an_input_is_captured_once
        an_input_of_other_work_is_refused
        a_driver_is_claimed_by_its_whole_value
        one_of_two_racing_claims_wins
        a_driver_is_a_run_that_was_started
        only_the_current_driver_passes_the_fence
        nobody_passes_the_fence_after_a_release
        a_release_leaves_the_provider
        a_finish_ends_the_driver_alone
        a_closed_session_is_only_recorded
        the_end_of_a_turn_ends_nothing_else
        a_run_starts_and_ends_once
        a_turn_stays_with_the_input_it_was_intended_for
    }
    request {
        an_intent_freezes_its_origin
        another_request_of_one_id_is_a_conflict
        a_turn_has_one_request
        an_echo_before_the_intent_is_not_ours
        only_the_history_admits_a_request
        what_is_proven_of_a_send_stays
        a_turn_may_be_learned_from_its_echo
        a_foreign_turn_has_no_owner
        a_result_completes_its_own_turn_alone
        a_takeover_keeps_what_was_intended
    }
    effect {
        what_happens_once_is_not_tried_twice
        an_abort_may_be_asked_for_again
        an_effect_is_meant_under_the_fence
    }
    event {
        what_is_recorded_again_writes_nothing
        equal_facts_of_other_turns_are_other_events
        a_contradiction_is_kept_beside_what_holds
        events_are_read_in_pages
        recording_needs_no_driver
        a_failing_write_leaves_no_trace
        a_read_sees_one_state
        evidence_is_kept_until_it_is_pruned
        evidence_comes_back_byte_for_byte
        what_is_too_large_is_refused
        odd_texts_come_back_as_they_were
    }
    turn {
        a_turn_is_reported_whole
        a_completion_alone_invents_nothing
        a_gap_alone_shows_no_turn
        a_turn_starts_once
        the_last_attempt_says_how_a_turn_stands
        an_end_without_a_time_follows_what_was_recorded_before
        an_unanswered_request_may_be_answered_later
        an_unanswered_request_may_be_absorbed
        a_request_for_no_reply_is_reported_as_such
        a_proven_death_loses_open_turns
        a_completion_outweighs_a_death
        open_turns_are_found_among_many
        an_orphan_keeps_its_usage
    }
    usage {
        counters_keep_their_peak
        absent_usage_stays_absent
        a_sum_that_does_not_fit_is_unknown
        money_is_summed_exactly
        a_call_is_counted_once_in_the_store
        a_first_sighting_says_itself_what_it_saw
        the_turn_that_we_intended_owns_its_calls
        a_fork_inherits_and_earns_nothing_again
        a_fork_has_one_parent
        a_subagent_is_owned_by_the_turn_that_started_it
        further_work_of_a_subagent_is_owned_by_its_own_request
        a_subagent_becomes_ours_with_its_turn
        a_sighting_without_a_time_owns_last
        usage_is_grouped
        calls_are_shown_by_scope
        the_outcome_of_an_input_is_that_of_its_run
    }
    selection {
        a_selection_is_spent_on_one_turn
        a_workflow_that_moved_on_may_select_again
        an_older_success_is_refused
        what_is_no_turn_of_the_input_is_refused
        a_stale_driver_is_refused
        an_unspent_selection_is_made_anew_after_a_takeover
        a_retry_replaces_a_turn_that_failed
        another_selection_of_one_input_is_a_conflict
        a_consumption_that_is_not_committed_is_none
    }
    writer {
        what_was_acknowledged_is_there_once
    }
    recovery {
        recovery_ends_where_no_crash_would_have
        the_order_of_looks_does_not_matter
    }
    story {
        the_acceptance_story
    }
    law {
        a_backend_does_what_the_model_does
        owners_do_not_depend_on_the_order_of_import
        a_turn_does_not_depend_on_the_order_of_its_facts
    }
}
