//! Converts lists of steps, and the parts of a step around its action.

use super::code;
use super::context::{Context, Failure};
use super::helper::Helper;
use super::writer::ScriptWriter;
use crate::pipeline::order::{execution_order, transitive_needs};
use crate::pipeline::step::{Action, Loop, Step};
use crate::pipeline::tree::Test;

impl ScriptWriter<'_> {
    /// Adds the steps of a list, in the order of execution.
    pub(super) fn steps(&mut self, steps: &[Step], context: Context) {
        let order = execution_order(steps);
        self.note_waits(steps, &order);
        for index in order {
            self.step(&steps[index], context);
        }
    }

    /// Notes the steps that a script keeps waiting although the pipeline does not.
    fn note_waits(&mut self, steps: &[Step], order: &[usize]) {
        for (place, &index) in order.iter().enumerate() {
            let later = order[place + 1..].iter();
            let free = later.filter(|later| !transitive_needs(steps, **later).contains(&index));
            let free: Vec<_> = free.map(|free| &*steps[*free].name).collect();
            if free.is_empty() {
                continue;
            }
            if may_wait(&steps[index]) {
                let name = &steps[index].name;
                let free = free.join(", ");
                self.difference(format!(
                    "while {name:?} waits or fails, these steps do not run: {free}"
                ));
            } else {
                self.difference(
                    "the first step that fails ends the script, also for independent steps",
                );
            }
        }
    }

    fn step(&mut self, step: &Step, context: Context) {
        if !self.code.is_empty() {
            self.lines("\n");
        }
        self.lines(&format!("// {} ({})", step.name, step.location));
        if !step.tags.is_empty() {
            self.difference("tags have no equivalent");
        }
        if step.timeout.is_some() {
            self.difference("the timeout of a step has no equivalent: the script keeps waiting");
        }
        if step.retries.is_some() && context.is_caught() {
            self.difference("retries have no equivalent: the first failure is rescued");
        } else if step.retries.is_some() {
            self.difference("retries have no equivalent: the operator retries without end");
        }
        if context.failure == Failure::Tracked {
            self.lines(&format!("step = {};", code::string(&step.name)));
        }
        if step.repeat.is_some() {
            self.repeated(step, context);
        } else {
            self.guarded(step, context, |script, context| {
                script.work(step, context, &|value| assign_result(step, value));
            });
        }
    }

    /// Adds the variables and the condition of a step around its work.
    fn guarded(&mut self, step: &Step, context: Context, work: impl FnOnce(&mut Self, Context)) {
        if step.vars.is_empty() {
            self.conditional(step, context, work);
            return;
        }
        let context = Context {
            in_vars: true,
            ..context
        };
        let with_variables = |script: &mut Self| {
            for variable in step.vars.chunks(1) {
                let variable = code::variables(&[], variable);
                script.lines(&format!("let vars = merge(vars, {variable});"));
            }
            script.conditional(step, context, work);
        };
        self.braced_block("{", with_variables, "}");
    }

    fn conditional(
        &mut self,
        step: &Step,
        context: Context,
        work: impl FnOnce(&mut Self, Context),
    ) {
        if step.when.is_empty() {
            work(self, context);
        } else {
            let condition = self.all_of(&step.when, context);
            let opening = format!("if {condition} {{");
            self.braced_block(&opening, |script| work(script, context), "}");
        }
    }

    /// Returns the condition that all tests are true.
    fn all_of(&self, tests: &[Test], context: Context) -> String {
        let test = |test| code::test(test, None, &self.visible(context, None));
        match tests {
            [one] => test(one),
            tests => {
                let tests = tests.iter().map(|one| format!("({})", test(one)));
                tests.collect::<Vec<_>>().join(" && ")
            }
        }
    }

    /// Returns the variables that a query can begin with; `gate` is the variable of a gate.
    pub(super) fn visible(
        &self,
        context: Context,
        gate: Option<&'static str>,
    ) -> Vec<&'static str> {
        let variables = self.variables.iter().copied();
        variables.chain(context.variables()).chain(gate).collect()
    }

    fn repeated(&mut self, step: &Step, context: Context) {
        let items = match &step.repeat {
            Some(Loop::Items(tree)) if !tree.is_map() => code::tree(tree),
            Some(Loop::Items(tree)) => self.helper(Helper::Items, &code::tree(tree)),
            Some(Loop::Query(query)) => code::query(query, None, &self.visible(context, None)),
            Some(Loop::Expression(expression)) => {
                self.helper(Helper::Items, &expression.text.clone())
            }
            None => return,
        };
        let context = Context {
            in_loop: true,
            ..context
        };
        let opening = format!("for item in {items} {{");
        let each = |script: &mut Self, keep: &dyn Fn(&str) -> String| {
            script.guarded(step, context, |script, context| {
                script.work(step, context, keep);
            });
        };
        let Some(name) = &step.register else {
            let each = |script: &mut Self| each(script, &|value| format!("{value};"));
            self.braced_block(&opening, each, "}");
            return;
        };
        let all = |script: &mut Self| {
            script.lines("let made = [];");
            let each = |script: &mut Self| each(script, &|value| format!("made.push({value});"));
            script.braced_block(&opening, each, "}");
            script.lines(&format!("results{} = made;", code::property(name)));
        };
        self.braced_block("{", all, "}");
    }
}

/// Returns the statement that keeps a value as the result of a step.
fn assign_result(step: &Step, value: &str) -> String {
    match &step.register {
        Some(name) => format!("results{} = {value};", code::property(name)),
        None => format!("{value};"),
    }
}

/// Returns whether a step can end a run because it waits.
fn may_wait(step: &Step) -> bool {
    step.ready.is_some()
        || !step.until.is_empty()
        || matches!(step.action, Action::Role(_))
        || step.lists().flatten().any(may_wait)
}
