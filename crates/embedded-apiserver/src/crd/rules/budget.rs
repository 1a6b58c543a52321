//! Limits the cost of executing rules.
//!
//! The limits are those of the real server. The cost of a call is counted at two points: a step of a loop
//! costs at least what it costs there, and a search with a regular expression costs the same. All other costs
//! are bounded by the estimate of a rule, which a definition must meet. The real server interrupts rules at
//! the deadline of the request. Here, a deadline of its own applies, because a step can take longer.

use std::cell::RefCell;
use std::time::Duration;

use clock::Stopwatch;
use kube_cel::cel::ExecutionError;

/// The maximum cost of one execution of a rule: `PerCallLimit` of k8s.io/apiserver.
const CALL_LIMIT: u64 = 1_000_000;
/// The maximum cost of all rules of one object: `RuntimeCELCostBudget`.
const OBJECT_LIMIT: u64 = 10_000_000;
/// The maximum time of all rules of one object. Without optimization, rules are ten times slower.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 100 } else { 10 });

/// The reason that a call ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The call costs more than [`CALL_LIMIT`].
    Cost,
    /// The rules of the object took longer than [`TIME_LIMIT`].
    Time,
}

thread_local! {
    static CALL: RefCell<Option<RuleCall>> = const { RefCell::new(None) };
}

struct RuleCall {
    cost: u64,
    stop: Option<Stop>,
    time: Stopwatch,
}

/// The budget of the rules of one object.
#[derive(Debug)]
pub(super) struct Budget {
    remaining: u64,
    time: Stopwatch,
    is_exhausted: bool,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            remaining: OBJECT_LIMIT,
            time: Stopwatch::start(),
            is_exhausted: false,
        }
    }

    /// Executes a rule. Returns its result and the reason that it ended early.
    pub(super) fn call<T>(&self, execute: impl FnOnce() -> T) -> (T, u64, Option<Stop>) {
        let call = RuleCall {
            cost: 0,
            stop: None,
            time: self.time,
        };
        let outer = CALL.replace(Some(call));
        let result = execute();
        let call = CALL.replace(outer);
        let (cost, stop) = call.map_or((0, None), |call| (call.cost, call.stop));
        (result, cost, stop)
    }

    /// Spends the cost of a call. Returns false if the budget does not have it.
    pub(super) fn spend(&mut self, cost: u64) -> bool {
        let rest = self.remaining.checked_sub(cost);
        self.remaining = rest.unwrap_or(0);
        rest.is_some()
    }

    /// Prevents that further rules run.
    pub(super) fn exhaust(&mut self) {
        self.is_exhausted = true;
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }
}

/// Charges a cost to the current call. Returns an error if the call must end.
pub(super) fn charge(cost: u64) -> Result<(), ExecutionError> {
    CALL.with_borrow_mut(|call| {
        let Some(call) = call else {
            return Ok(());
        };
        call.cost = call.cost.saturating_add(cost);
        let stop = call.stop.or_else(|| {
            if call.cost > CALL_LIMIT {
                Some(Stop::Cost)
            } else if call.time.elapsed() > TIME_LIMIT {
                Some(Stop::Time)
            } else {
                None
            }
        });
        call.stop = stop;
        match stop {
            None => Ok(()),
            Some(_) => Err(ExecutionError::function_error("", "operation cancelled")),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::crd::pattern::SearchBudget;
    use crate::crd::rules::Rules;
    use crate::crd::structural::Structural;
    use crate::crd::verdict::ValidationResult;

    fn errors(schema: &Value, object: &Value) -> Vec<String> {
        let schema = Structural::read(schema);
        let _searches = SearchBudget::begin();
        let mut verdict = ValidationResult::default();
        let rules = Rules::compile(&schema).unwrap();
        rules.run(object, None, &schema, "", &mut verdict);
        let errors = verdict.errors.into_iter();
        errors.map(|error| error.to_string()).collect()
    }

    fn text_with(rule: &str) -> Value {
        json!({"type": "object", "properties": {"s": {"type": "string"}, "p": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": rule}, {"rule": "false"}]})
    }

    #[test]
    fn a_call_that_costs_too_much_ends_and_no_rule_follows() {
        let schema = json!({"type": "object", "x-kubernetes-validations": [
            {"rule": "self.l.all(x, self.l.all(y, x + y >= 0))"}, {"rule": "false"}],
            "properties": {"l": {"type": "array", "items": {"type": "integer"}}}});
        let list = |length: usize| json!({"l": vec![1; length]});
        assert_eq!(
            errors(&schema, &list(100)),
            ["<nil>: Invalid value: failed rule: false"]
        );
        assert_eq!(
            errors(&schema, &list(600)),
            [
                "<nil>: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further \
              validation rules will be run due to call cost exceeds limit for rule: \
              self.l.all(x, self.l.all(y, x + y >= 0))"
            ]
        );
        // `||` does not hide the end.
        let schema = json!({"type": "object", "x-kubernetes-validations": [
            {"rule": "self.l.all(x, self.l.all(y, x + y >= 0)) || true"}],
            "properties": {"l": {"type": "array", "items": {"type": "integer"}}}});
        assert_eq!(errors(&schema, &list(600)).len(), 1);
    }

    #[test]
    fn all_rules_of_an_object_share_a_budget() {
        let rule = format!("!self.matches('{}')", "a".repeat(1000));
        let schema = json!({"type": "object", "properties": {"texts": {"type": "array", "items": {
            "type": "string", "x-kubernetes-validations": [{"rule": rule}]}}}});
        // Each search costs 250 times 41.
        let texts = |count: usize| json!({"texts": vec!["x".repeat(400); count]});
        assert_eq!(errors(&schema, &texts(975)), Vec::<String>::new());
        assert_eq!(
            errors(&schema, &texts(1100)),
            [
                "texts[975]: Invalid value: \"string\": validation failed due to running out of cost budget, no \
              further validation rules will be run"
            ]
        );
    }

    #[test]
    fn searches_have_the_syntax_of_go_and_a_limit() {
        for (rule, holds) in [
            (r"!'١'.matches('\\d')", true),
            (r"'a-b'.find('[a-z]$') == 'b'", true),
            (r"'a1b22'.findAll('\\d+') == ['1', '22']", true),
            (r"'a1b22'.findAll('\\d+', 1) == ['1']", true),
            (r"'a1b22'.findAll('\\d+', -1) == ['1', '22']", true),
        ] {
            let found = errors(&text_with(rule), &json!({}));
            assert_eq!(found.len(), if holds { 1 } else { 2 }, "{rule}: {found:?}");
        }
        // The pattern comes from the object too.
        let rule = "self.s.matches(self.p)";
        let slow = json!({"s": "01".repeat(32 << 10), "p": "(?:[01]{0,1000}1)*2"});
        let found = errors(&text_with(rule), &slow);
        assert!(found[0].contains("a search of 64 KiB"), "{found:?}");
        let large = json!({"s": "x".repeat(3 << 20), "p": "(?:[01]{0,1000}1)*2"});
        let found = errors(&text_with(rule), &large);
        assert!(found[0].contains("call cost exceeds limit"), "{found:?}");
        let invalid = json!({"s": "", "p": "a{1001}"});
        let found = errors(&text_with(rule), &invalid);
        assert!(
            found[0].contains("error parsing regexp: invalid repeat count: `{1001}`"),
            "{found:?}"
        );
    }
}
