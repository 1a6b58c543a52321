//! A pipeline as the script that does the same.
//!
//! A script goes from one statement to the next, so some of what a pipeline does has no equivalent: it
//! is said in the comments of the output.

mod action;
mod code;
mod script;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Action, Loop, Pipeline, Step};
use crate::role::Role;
use crate::script::Program;

/// The script that does what a pipeline of a role does.
pub fn convert(role: &Role, pipeline: &Pipeline) -> String {
    let mut script = Script {
        role,
        code: String::new(),
        depth: 0,
        helpers: BTreeSet::new(),
        functions: Vec::new(),
        lost: BTreeSet::new(),
        in_loop: 0,
        rescued: 0,
        program: &pipeline.program,
    };
    script.steps(&pipeline.steps);
    script.finish()
}

/// Functions that the script brings along, by what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Helper {
    Items,
    Each,
    Text,
    Failure,
}

impl Helper {
    fn code(self) -> &'static str {
        match self {
            Self::Items => {
                "/// What a loop goes through: a list, or the entries of a map.\n\
                 fn items(value) {\n    \
                     if type_of(value) != \"map\" { return value; }\n    \
                     let items = [];\n    \
                     for key in value.keys() { items.push(#{key: key, value: value[key]}); }\n    \
                     items\n}\n"
            }
            Self::Each => {
                "/// A list as it is, anything else as a list of one.\n\
                 fn each(value) {\n    \
                     if type_of(value) == \"array\" { value } else { [value] }\n}\n"
            }
            Self::Text => {
                "/// A number or a bool as text.\n\
                 fn text(value) {\n    \
                     if value == () { value } else { `${value}` }\n}\n"
            }
            Self::Failure => {
                "/// What was caught, as a map.\n\
                 fn failure(error) {\n    \
                     if type_of(error) == \"map\" { return error; }\n    \
                     #{kind: \"thrown\", message: `${error}`}\n}\n"
            }
        }
    }
}

/// The script on its way.
struct Script<'a> {
    role: &'a Role,
    code: String,
    depth: usize,
    helpers: BTreeSet<Helper>,
    /// Functions of scripts, which stand outside of everything.
    functions: Vec<String>,
    /// What it does not do as the pipeline does.
    lost: BTreeSet<String>,
    /// How many loops are around.
    in_loop: usize,
    /// How many blocks with a rescue are around.
    rescued: usize,
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
        let name = match helper {
            Helper::Items => "items",
            Helper::Each => "each",
            Helper::Text => "text",
            Helper::Failure => "failure",
        };
        format!("{name}({argument})")
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
            if !may_wait(&steps[index]) {
                continue;
            }
            let later = order[place + 1..].iter();
            let free = later.filter(|later| !super::needs_all(steps, **later).contains(&index));
            let free: Vec<_> = free.map(|free| &*steps[*free].name).collect();
            if !free.is_empty() {
                let name = &steps[index].name;
                let free = free.join(", ");
                self.lost(format!(
                    "while {name:?} waits or fails, these wait too, which they need not: {free}"
                ));
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
        if step.retries.is_some() {
            self.lost("retries have no equivalent: the runtime tries again until it succeeds");
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
                script.within(&format!("if {} {{", code::all(&step.when)), work, "}");
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
        self.within("{", with_variables, "}");
    }

    fn repeated(&mut self, step: &Step) {
        let items = match &step.repeat {
            Some(Loop::Items(tree)) => code::tree(tree),
            Some(Loop::Query(query)) => code::query(query, None),
            Some(Loop::Expression(expression)) => {
                self.helper(Helper::Items, &expression.text.clone())
            }
            None => return,
        };
        let all = |script: &mut Self| {
            script.lines("let made = [];");
            let each = |script: &mut Self| {
                script.guarded(step, |script| {
                    script.work(step, &|value| format!("made.push({value});"));
                });
            };
            script.within(&format!("for item in {items} {{"), each, "}");
            if let Some(name) = &step.register {
                script.lines(&format!("results{} = made;", code::property(name)));
            }
        };
        self.in_loop += 1;
        self.within("{", all, "}");
        self.in_loop -= 1;
    }

    fn finish(self) -> String {
        let mut script = String::new();
        script.push_str("// Made from a pipeline by `rhai-operator role convert`.\n");
        if !self.lost.is_empty() {
            script.push_str("//\n// What it does not do as the pipeline does:\n");
            for lost in &self.lost {
                let _ = writeln!(script, "// - {lost}");
            }
        }
        script.push_str("let results = #{};\n\n");
        script.push_str(&self.code);
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

/// Whether a step may end a run.
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
