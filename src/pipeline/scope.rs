//! The variables that expressions of a pipeline see in addition to those of scripts.
//!
//! The place of an expression decides which of them exist. An unknown variable is an error at load.

/// The results of finished steps, by the name that each step registers. Exists everywhere.
pub(crate) const RESULTS: &str = "results";
/// The current item of the innermost loop. Exists in `when`, `vars`, the action and the gates of a step
/// with a loop, and in all steps of a block or include with a loop.
pub(crate) const ITEM: &str = "item";
/// The live object that a gate checks. Exists in `ready`.
pub(crate) const OBJECT: &str = "object";
/// The result of the step's own action. Exists in `until`.
pub(crate) const RESULT: &str = "result";
/// The failure of a block. Exists in `rescue`: a map of `step`, `kind`, `message`, and for errors of the
/// API also `code`, `reason`, `retryable`.
pub(crate) const ERROR: &str = "error";

/// All of them.
pub(crate) const ALL: [&str; 5] = [RESULTS, ITEM, OBJECT, RESULT, ERROR];

/// The variables of the role, which scripts see too. Those of a step are merged into them.
pub(super) const VARS: &str = "vars";

/// The places of the variables that not every expression sees, as hints.
pub(super) const PLACES: &[(&str, &str)] = &[
    (
        ITEM,
        "use `item` in a step with a loop, or within a block or include with a loop",
    ),
    (OBJECT, "use `object` in `ready`: it is the applied object"),
    (
        RESULT,
        "use `result` in `until`; elsewhere write results.NAME",
    ),
    (ERROR, "use `error` in `rescue`"),
];

/// The variables that the expressions of one place see.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scope {
    pub(super) item: bool,
    pub(super) error: bool,
    /// `object` or `result`, in gates.
    pub(super) gate: Option<&'static str>,
}

impl Scope {
    /// Returns their names.
    pub(super) fn variables(self) -> Vec<&'static str> {
        let item = self.item.then_some(ITEM);
        let error = self.error.then_some(ERROR);
        let all = [Some(RESULTS), item, error, self.gate];
        all.into_iter().flatten().collect()
    }
}
