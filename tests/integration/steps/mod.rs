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
            every_action_has_its_documented_effect,
            every_key_has_its_documented_effect,
            a_loop_that_shrinks_leaves_nothing_behind,
            a_file_and_a_template_are_applied,
            roles_of_both_kinds_include_each_other,
            the_end_of_a_custom_resource_is_a_pipeline_too,
            a_branch_that_waits_holds_up_only_those_that_need_it,
            objects_of_a_skipped_step_are_pruned,
            a_refused_request_is_rescued,
            failed_steps_are_reported_together,
            a_script_that_waits_holds_up_its_own_step,
            nothing_changed_asks_nothing,
            steps_are_in_the_status_where_the_crd_has_them,
            a_part_of_the_steps_prunes_nothing,
            a_timeout_outlives_a_restart,
            a_clock_that_is_set_back_restarts_a_timeout,
            retries_are_counted_over_runs,
            the_resources_of_a_run_are_limited,
            no_secret_is_shown,
            always_steps_do_not_run_while_the_block_waits,
            an_order_that_needs_allow_makes_the_same,
            a_waiting_step_blocks_the_steps_that_need_it,
            an_item_and_an_error_are_those_of_the_place,
            the_nearest_of_several_timeouts_counts,
            a_clock_runs_on_behind_a_failure_and_not_behind_a_wait,
            failures_are_counted_as_long_as_they_follow_each_other,
            retries_of_two_roles_are_counted_apart,
            a_script_catches_what_a_pipeline_fails_with,
            an_apply_with_unknown_objects_prunes_nothing,
            until_is_asked_when_all_is_ready_and_all_of_it_has_to_hold,
            a_start_is_a_place_in_the_file,
        ];
    };
}
pub(crate) use steps;
