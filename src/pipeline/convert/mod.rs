//! A pipeline as the script that does the same.
//!
//! A script goes from one statement to the next, so some of what a pipeline does has no equivalent: it
//! is said in the comments of the output.

mod action;
mod code;
mod helper;
mod nested;
mod split_script;
mod string_fields;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use minijinja::Environment;

use self::helper::Helper;
use super::scope::{ERROR, ITEM, RESULTS};
use super::{Action, Loop, Pipeline, Step};
use crate::script::Program;

/// The script that does what a pipeline of a role does; `variables` are those that every script sees.
pub fn convert(
    pipeline: &Pipeline,
    templates: &Environment<'static>,
    variables: &[&'static str],
) -> String {
    let mut script = Script {
        templates,
        variables: variables.to_vec(),
        code: String::new(),
        depth: 0,
        helpers: BTreeSet::new(),
        functions: Vec::new(),
        lost: BTreeSet::new(),
        in_loop: 0,
        in_vars: 0,
        in_rescue: 0,
        rescued: 0,
        fails: false,
        gate: None,
        tracked: 0,
        tracks: false,
        program: &pipeline.program,
    };
    script.steps(&pipeline.steps);
    script.finish()
}

/// The script on its way.
struct Script<'a> {
    templates: &'a Environment<'static>,
    variables: Vec<&'static str>,
    code: String,
    depth: usize,
    helpers: BTreeSet<Helper>,
    /// Functions of scripts, which stand outside of everything.
    functions: Vec<String>,
    /// What it does not do as the pipeline does.
    lost: BTreeSet<String>,
    /// How many loops are around.
    in_loop: usize,
    /// How many steps with variables are around.
    in_vars: usize,
    /// How many rescues are around.
    in_rescue: usize,
    /// How many blocks are around that something is done after which fails.
    rescued: usize,
    /// Whether a step of the innermost of these fails for good.
    fails: bool,
    /// The variable of the gate at hand.
    gate: Option<&'static str>,
    /// How many blocks are around whose rescue asks which step failed.
    tracked: usize,
    /// Whether any does.
    tracks: bool,
    program: &'a Program,
}

impl Script<'_> {
    /// Adds lines at the depth at hand.
    fn lines(&mut self, lines: &str) {
        for line in lines.lines() {
            if line.is_empty() {
                self.code.push('\n');
            } else {
                // Writing to a string cannot fail.
                let _ = writeln!(self.code, "{}{line}", "    ".repeat(self.depth));
            }
        }
    }

    /// Adds lines within a block; `opening` ends with its brace.
    fn within(&mut self, opening: &str, body: impl FnOnce(&mut Self), closing: &str) {
        self.lines(opening);
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.lines(closing);
    }

    fn helper(&mut self, helper: Helper, argument: &str) -> String {
        self.helpers.insert(helper);
        if helper == Helper::Texts {
            self.helpers.insert(Helper::Text);
        }
        format!("{}({argument})", helper.name())
    }

    /// All variables that a query may begin with.
    fn variables(&self) -> Vec<&'static str> {
        let some = [
            Some(RESULTS),
            (self.in_loop > 0).then_some(ITEM),
            (self.in_rescue > 0).then_some(ERROR),
            self.gate,
        ];
        let all = self.variables.iter().copied();
        all.chain(some.into_iter().flatten()).collect()
    }

    fn lost(&mut self, what: impl Into<String>) {
        self.lost.insert(what.into());
    }

    /// The steps of a list, in an order that their needs allow.
    fn steps(&mut self, steps: &[Step]) {
        let order = super::order(steps);
        self.tell_waits(steps, &order);
        for index in order {
            self.step(&steps[index]);
        }
    }

    /// Says which steps a script keeps waiting that the pipeline does not.
    fn tell_waits(&mut self, steps: &[Step], order: &[usize]) {
        for (place, &index) in order.iter().enumerate() {
            let later = order[place + 1..].iter();
            let free = later.filter(|later| !super::needs_all(steps, **later).contains(&index));
            let free: Vec<_> = free.map(|free| &*steps[*free].name).collect();
            if free.is_empty() {
                continue;
            }
            if may_wait(&steps[index]) {
                let name = &steps[index].name;
                let free = free.join(", ");
                self.lost(format!(
                    "while {name:?} waits or fails, these wait too, which they need not: {free}"
                ));
            } else {
                self.lost("it ends with the first step that fails: others are not done first");
            }
        }
    }

    fn step(&mut self, step: &Step) {
        if !self.code.is_empty() {
            self.lines("\n");
        }
        self.lines(&format!("// {} ({})", step.name, step.place));
        if !step.tags.is_empty() {
            self.lost("tags have no equivalent");
        }
        if step.timeout.is_some() {
            self.lost("a timeout of a step has no equivalent: the script waits on");
        }
        if step.retries.is_some() && self.rescued > 0 {
            self.lost("retries have no equivalent: the first failure is rescued");
        } else if step.retries.is_some() {
            self.lost("retries have no equivalent: the runtime tries again until it succeeds");
        }
        if self.tracked > 0 {
            self.lines(&format!("step = {};", code::string(&step.name)));
        }
        if step.repeat.is_some() {
            self.repeated(step);
        } else {
            self.guarded(step, |script| script.work(step, &|value| keep(step, value)));
        }
    }

    /// Variables and conditions around the work of a step.
    fn guarded(&mut self, step: &Step, work: impl FnOnce(&mut Self)) {
        let conditional = |script: &mut Self| {
            if step.when.is_empty() {
                work(script);
            } else {
                let holds = script.all(&step.when);
                script.within(&format!("if {holds} {{"), work, "}");
            }
        };
        if step.vars.is_empty() {
            conditional(self);
            return;
        }
        let with_variables = |script: &mut Self| {
            for variable in step.vars.chunks(1) {
                let variable = code::variables(&[], variable);
                script.lines(&format!("let vars = merge(vars, {variable});"));
            }
            conditional(script);
        };
        self.in_vars += 1;
        self.within("{", with_variables, "}");
        self.in_vars -= 1;
    }

    /// Conditions that all have to hold.
    fn all(&self, tests: &[super::Test]) -> String {
        match tests {
            [one] => self.test(one, None),
            tests => {
                let tests = tests
                    .iter()
                    .map(|one| format!("({})", self.test(one, None)));
                tests.collect::<Vec<_>>().join(" && ")
            }
        }
    }

    fn repeated(&mut self, step: &Step) {
        let items = match &step.repeat {
            Some(Loop::Items(tree)) if !tree.is_map() => code::tree(tree),
            Some(Loop::Items(tree)) => self.helper(Helper::Items, &code::tree(tree)),
            Some(Loop::Query(query)) => code::query(query, None, &self.variables()),
            Some(Loop::Expression(expression)) => {
                self.helper(Helper::Items, &expression.text.clone())
            }
            None => return,
        };
        self.in_loop += 1;
        let opening = format!("for item in {items} {{");
        if let Some(name) = &step.register {
            let all = |script: &mut Self| {
                script.lines("let made = [];");
                let each =
                    |script: &mut Self| script.each(step, &|value| format!("made.push({value});"));
                script.within(&opening, each, "}");
                script.lines(&format!("results{} = made;", code::property(name)));
            };
            self.within("{", all, "}");
        } else {
            let each = |script: &mut Self| script.each(step, &|value| format!("{value};"));
            self.within(&opening, each, "}");
        }
        self.in_loop -= 1;
    }

    fn each(&mut self, step: &Step, keep: &dyn Fn(&str) -> String) {
        self.guarded(step, |script| script.work(step, keep));
    }

    fn finish(mut self) -> String {
        if self.code.contains("${") {
            self.lost("a text that `()`, a list or a map is put into is no error");
        }
        let mut script = String::new();
        script.push_str("// Made from a pipeline by `rhai-operator role convert`.\n");
        if !self.lost.is_empty() {
            script.push_str("//\n// What it does not do as the pipeline does:\n");
            for lost in &self.lost {
                let _ = writeln!(script, "// - {lost}");
            }
        }
        script.push_str("let results = #{};\n");
        if self.tracks {
            script.push_str("let step = \"\";\n");
        }
        script.push('\n');
        script.push_str(self.code.trim_start_matches('\n'));
        script.push_str("\n// What a role that includes this one gets.\nreturn results;\n");
        for helper in self.helpers {
            script.push('\n');
            script.push_str(helper.code());
        }
        for function in self.functions {
            script.push('\n');
            script.push_str(&function);
        }
        script
    }
}

/// The statement that keeps a value as a step's result.
fn keep(step: &Step, value: &str) -> String {
    match &step.register {
        Some(name) => format!("results{} = {value};", code::property(name)),
        None => format!("{value};"),
    }
}

/// Returns whether a step may end a run.
fn may_wait(step: &Step) -> bool {
    let within = |steps: &[Step]| steps.iter().any(may_wait);
    step.ready.is_some()
        || !step.until.is_empty()
        || match &step.action {
            Action::Role(_) => true,
            Action::Include(include) => within(&include.steps),
            Action::Block(block) => {
                within(&block.steps)
                    || block.rescue.as_deref().is_some_and(within)
                    || within(&block.always)
            }
            _ => false,
        }
}
