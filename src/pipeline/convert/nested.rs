//! Converts steps within steps.

use super::code;
use super::context::{Context, Failure};
use super::helper::Helper;
use super::writer::ScriptWriter;
use crate::pipeline::scope::ERROR;
use crate::pipeline::step::{Action, Block, Include, Step};

impl ScriptWriter<'_> {
    /// Adds the steps of a file, whose results have a namespace of their own.
    pub(super) fn include(
        &mut self,
        step: &Step,
        include: &Include,
        context: Context,
        keep: &dyn Fn(&str) -> String,
    ) {
        let mut names = Vec::new();
        add_registered(&include.steps, true, &mut names);
        self.namespace(step, &names, (context, keep), |script| {
            script.steps(&include.steps, context);
        });
    }

    /// Adds a block with a loop, whose results have a namespace of their own.
    pub(super) fn block_of_loop(
        &mut self,
        step: &Step,
        block: &Block,
        context: Context,
        keep: &dyn Fn(&str) -> String,
    ) {
        let mut names = Vec::new();
        add_registered_in_block(block, true, &mut names);
        self.namespace(step, &names, (context, keep), |script| {
            script.block(block, context);
        });
    }

    /// Adds steps with results of their own, and keeps a map of these.
    fn namespace(
        &mut self,
        step: &Step,
        names: &[(&str, bool)],
        (context, keep): (Context, &dyn Fn(&str) -> String),
        steps: impl FnOnce(&mut Self),
    ) {
        let body = |script: &mut Self| {
            script.lines("let results = results;");
            steps(script);
            let results = script.results_of(names);
            script.lines(&results);
        };
        let outer = |script: &mut Self| {
            script.braced_block("let result = {", body, "};");
            let kept = keep("result");
            if kept != "result;" {
                script.lines(&kept);
            }
            script.gates(step, context, "result");
        };
        self.braced_block("{", outer, "}");
    }

    /// Returns the map of some results. A result that is not always registered may be absent.
    fn results_of(&mut self, names: &[(&str, bool)]) -> String {
        if names.iter().all(|(_, is_certain)| *is_certain) {
            let entries = names.iter().map(|(name, _)| {
                let property = code::property(name);
                (*name, format!("results{property}"))
            });
            return code::map_of(entries);
        }
        let names = names.iter().map(|(name, _)| code::string(name));
        let names = names.collect::<Vec<_>>().join(", ");
        self.helper(Helper::Only, &format!("results, [{names}]"))
    }

    /// Adds the steps of a block, its `rescue` and its `always`.
    pub(super) fn block(&mut self, block: &Block, context: Context) {
        if block.always.is_empty() {
            self.block_with_rescue(block, context);
            return;
        }
        let outer = std::mem::take(&mut self.throws_failure);
        self.lines("let failed = ();");
        let caught = Context {
            failure: context.failure.max(Failure::Caught),
            ..context
        };
        self.braced_block(
            "try {",
            |script| script.block_with_rescue(block, caught),
            "} catch (error) {",
        );
        self.indented(|script| script.lines("failed = error;"));
        self.lines("}");
        let throws_failure = std::mem::replace(&mut self.throws_failure, outer);
        self.steps(&block.always, context);
        if throws_failure && !context.is_caught() {
            let failed = "type_of(failed) == \"map\" && failed.kind == \"failed\"";
            self.lines(&format!("if {failed} {{ fail(failed.message); }}"));
        }
        self.throws_failure |= throws_failure;
        self.lines("if failed != () { throw failed; }");
    }

    fn block_with_rescue(&mut self, block: &Block, context: Context) {
        let Some(rescue) = &block.rescue else {
            self.steps(&block.steps, context);
            return;
        };
        let in_rescue = Context {
            in_rescue: true,
            ..context
        };
        let rescue = self.detached(|script| script.steps(rescue, in_rescue));
        let reads_error = rescue.contains(ERROR);
        let catch = if reads_error {
            Failure::Tracked
        } else {
            Failure::Caught
        };
        let caught = Context {
            failure: context.failure.max(catch),
            ..context
        };
        // Failures of these steps are caught, so they do not end the run.
        let outer = std::mem::take(&mut self.throws_failure);
        self.braced_block(
            "try {",
            |script| script.steps(&block.steps, caught),
            "} catch (error) {",
        );
        self.throws_failure = outer;
        if reads_error {
            self.tracks_step = true;
            let failure = self.helper(Helper::Failure, "error, step");
            self.indented(|script| script.lines(&format!("let error = {failure};")));
        }
        self.code.push_str(&rescue);
        self.lines("}");
    }
}

/// Adds the names of the results that steps register outside of inner namespaces, and whether they always
/// register them.
fn add_registered<'a>(steps: &'a [Step], certain: bool, names: &mut Vec<(&'a str, bool)>) {
    for step in steps {
        let certain = certain && step.when.is_empty();
        names.extend(step.register.as_deref().map(|name| (name, certain)));
        if let (Action::Block(block), None) = (&step.action, &step.repeat) {
            add_registered_in_block(block, certain, names);
        }
    }
}

fn add_registered_in_block<'a>(block: &'a Block, certain: bool, names: &mut Vec<(&'a str, bool)>) {
    let rescue = block.rescue.as_deref();
    add_registered(&block.steps, certain && rescue.is_none(), names);
    add_registered(rescue.unwrap_or_default(), false, names);
    add_registered(&block.always, certain, names);
}
