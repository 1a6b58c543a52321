//! Steps within steps, as statements.

use super::helper::Helper;
use super::{Script, code};
use crate::pipeline::scope::ERROR;
use crate::pipeline::{Action, Block, Include, Step};

impl Script<'_> {
    /// The steps of a file, whose results are their own.
    pub(super) fn include(
        &mut self,
        step: &Step,
        include: &Include,
        keep: &dyn Fn(&str) -> String,
    ) {
        let mut names = Vec::new();
        registered(&include.steps, true, &mut names);
        self.enclosed(step, &names, keep, |script| script.steps(&include.steps));
    }

    /// A block with a loop, whose results are its own.
    pub(super) fn looped(&mut self, step: &Step, block: &Block, keep: &dyn Fn(&str) -> String) {
        let mut names = Vec::new();
        registered_in(block, true, &mut names);
        self.enclosed(step, &names, keep, |script| script.block(block));
    }

    /// Steps with results of their own, and these as a map.
    fn enclosed(
        &mut self,
        step: &Step,
        names: &[(&str, bool)],
        keep: &dyn Fn(&str) -> String,
        steps: impl FnOnce(&mut Self),
    ) {
        let body = |script: &mut Self| {
            script.lines("let results = results;");
            steps(script);
            let made = script.made_within(names);
            script.lines(&made);
        };
        let outer = |script: &mut Self| {
            script.within("let result = {", body, "};");
            let kept = keep("result");
            if kept != "result;" {
                script.lines(&kept);
            }
            script.gates(step, "result");
        };
        self.within("{", outer, "}");
    }

    /// The map of some results; those that are not made in any case may be absent.
    fn made_within(&mut self, names: &[(&str, bool)]) -> String {
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

    /// The steps of a block, those that come to its rescue, those that are done in any case.
    pub(super) fn block(&mut self, block: &Block) {
        if block.always.is_empty() {
            self.rescue(block);
            return;
        }
        let outer = std::mem::take(&mut self.fails);
        self.lines("let failed = ();");
        self.rescued += 1;
        self.within("try {", |script| script.rescue(block), "} catch (error) {");
        self.rescued -= 1;
        self.depth += 1;
        self.lines("failed = error;");
        self.depth -= 1;
        self.lines("}");
        let fails = std::mem::replace(&mut self.fails, outer);
        self.steps(&block.always);
        if fails && self.rescued == 0 {
            let failed = "type_of(failed) == \"map\" && failed.kind == \"failed\"";
            self.lines(&format!("if {failed} {{ fail(failed.message); }}"));
        }
        self.fails |= fails;
        self.lines("if failed != () { throw failed; }");
    }

    fn rescue(&mut self, block: &Block) {
        let Some(rescue) = &block.rescue else {
            self.steps(&block.steps);
            return;
        };
        let code = self.aside(|script| {
            script.in_rescue += 1;
            script.steps(rescue);
            script.in_rescue -= 1;
        });
        let told = code.contains(ERROR);
        self.rescued += 1;
        self.tracked += usize::from(told);
        let outer = std::mem::take(&mut self.fails);
        self.within(
            "try {",
            |script| script.steps(&block.steps),
            "} catch (error) {",
        );
        self.fails = outer;
        self.tracked -= usize::from(told);
        self.rescued -= 1;
        if told {
            self.tracks = true;
            self.depth += 1;
            let failure = self.helper(Helper::Failure, "error, step");
            self.lines(&format!("let error = {failure};"));
            self.depth -= 1;
        }
        self.code.push_str(&code);
        self.lines("}");
    }

    /// The code of what is written one level deeper, which is not there yet.
    fn aside(&mut self, body: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.code);
        self.depth += 1;
        body(self);
        self.depth -= 1;
        std::mem::replace(&mut self.code, before)
    }
}

/// The names of the results that steps make outside of steps with names of their own, and whether they
/// are made in any case.
fn registered<'a>(steps: &'a [Step], certain: bool, names: &mut Vec<(&'a str, bool)>) {
    for step in steps {
        let certain = certain && step.when.is_empty();
        names.extend(step.register.as_deref().map(|name| (name, certain)));
        if let (Action::Block(block), None) = (&step.action, &step.repeat) {
            registered_in(block, certain, names);
        }
    }
}

fn registered_in<'a>(block: &'a Block, certain: bool, names: &mut Vec<(&'a str, bool)>) {
    let rescue = block.rescue.as_deref();
    registered(&block.steps, certain && rescue.is_none(), names);
    registered(rescue.unwrap_or_default(), false, names);
    registered(&block.always, certain, names);
}
