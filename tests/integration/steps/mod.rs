//! Pipelines, run on any cluster: the same tests on the embedded API and on a real server.

pub(crate) mod step_test;

mod actions;
mod bounds;
mod corners;
mod flow;

pub(crate) use actions::*;
pub(crate) use bounds::*;
pub(crate) use corners::*;
pub(crate) use flow::*;

/// Hands the names of all tests to a macro.
macro_rules! steps {
    ($each:ident) => {
        $each![
            every_action_does_what_it_says,
            every_key_does_what_it_says,
            a_loop_that_shrinks_leaves_nothing_behind,
            a_file_and_a_template_are_applied,
            roles_of_both_kinds_include_each_other,
            the_end_of_a_custom_resource_is_a_pipeline_too,
            a_branch_that_waits_holds_up_only_those_that_need_it,
            what_a_skipped_step_applied_is_pruned,
            a_refused_request_is_rescued,
            steps_that_fail_are_told_together,
            a_script_that_waits_holds_up_its_own_step,
            nothing_changed_asks_nothing,
            steps_are_in_the_status_where_the_crd_has_them,
            a_part_of_the_steps_prunes_nothing,
            a_timeout_outlives_a_restart,
            a_clock_that_is_set_back_restarts_a_timeout,
            retries_are_counted_over_runs,
            what_a_run_may_use_up_is_bounded,
            no_secret_is_told,
            what_is_done_in_any_case_is_not_done_while_the_block_waits,
            an_order_that_needs_allow_makes_the_same,
            what_is_held_up_holds_up_what_needs_it,
            an_item_and_an_error_are_those_of_the_place,
            the_nearest_of_several_timeouts_counts,
            a_clock_runs_on_behind_a_failure_and_not_behind_a_wait,
            failures_are_counted_as_long_as_they_follow_each_other,
            retries_of_two_roles_are_counted_apart,
            a_script_catches_what_a_pipeline_fails_with,
            what_was_to_be_applied_and_is_not_known_prunes_nothing,
            until_is_asked_when_all_is_ready_and_all_of_it_has_to_hold,
            a_start_is_a_place_in_the_file,
        ];
    };
}
pub(crate) use steps;
