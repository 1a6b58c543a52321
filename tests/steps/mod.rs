//! Pipelines, run on any ground: the same tests on the embedded API and on a real server.

pub(crate) mod stage;

mod actions;
mod bounds;
mod flow;

pub(crate) use actions::*;
pub(crate) use bounds::*;
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
            retries_are_counted_over_runs,
            what_a_run_may_use_up_is_bounded,
            no_secret_is_told,
            what_is_done_in_any_case_is_not_done_while_the_block_waits,
            an_order_that_needs_allow_makes_the_same,
        ];
    };
}
pub(crate) use steps;
