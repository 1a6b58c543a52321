//! The script that is being written.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use minijinja::Environment;

use super::helper::Helper;
use crate::script::Program;

/// The script that is being written.
pub(super) struct ScriptWriter<'a> {
    pub(super) program: &'a Program,
    pub(super) templates: &'a Environment<'static>,
    /// The variables that every script sees.
    pub(super) variables: &'a [&'static str],
    pub(super) code: String,
    depth: usize,
    helpers: BTreeSet<Helper>,
    /// Functions of scripts, which must be at the top level.
    pub(super) functions: Vec<String>,
    /// The behavior of the pipeline that the script does not have.
    differences: BTreeSet<String>,
    /// True if a step of the innermost caught block throws a failure that must end the run.
    pub(super) throws_failure: bool,
    /// True if the script tracks the name of the current step.
    pub(super) tracks_step: bool,
}

impl<'a> ScriptWriter<'a> {
    pub(super) fn new(
        program: &'a Program,
        templates: &'a Environment<'static>,
        variables: &'a [&'static str],
    ) -> Self {
        Self {
            program,
            templates,
            variables,
            code: String::new(),
            depth: 0,
            helpers: BTreeSet::new(),
            functions: Vec::new(),
            differences: BTreeSet::new(),
            throws_failure: false,
            tracks_step: false,
        }
    }

    /// Adds lines at the current depth.
    pub(super) fn lines(&mut self, lines: &str) {
        for line in lines.lines() {
            if line.is_empty() {
                self.code.push('\n');
            } else {
                // Writing to a string cannot fail.
                let _ = writeln!(self.code, "{}{line}", "    ".repeat(self.depth));
            }
        }
    }

    /// Adds lines one level deeper.
    pub(super) fn indented<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let result = body(self);
        self.depth -= 1;
        result
    }

    /// Adds a block. `opening` ends with its brace.
    pub(super) fn braced_block(
        &mut self,
        opening: &str,
        body: impl FnOnce(&mut Self),
        closing: &str,
    ) {
        self.lines(opening);
        self.indented(body);
        self.lines(closing);
    }

    /// Returns the code that `body` adds one level deeper, without adding it.
    pub(super) fn detached(&mut self, body: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.code);
        self.indented(body);
        std::mem::replace(&mut self.code, before)
    }

    /// Returns a call of a helper function, and adds the function to the script.
    pub(super) fn helper(&mut self, helper: Helper, argument: &str) -> String {
        self.helpers.insert(helper);
        if helper == Helper::Texts {
            self.helpers.insert(Helper::Text);
        }
        format!("{}({argument})", helper.name())
    }

    /// Adds a behavior of the pipeline that the script does not have.
    pub(super) fn difference(&mut self, difference: impl Into<String>) {
        self.differences.insert(difference.into());
    }

    /// Returns the whole script.
    pub(super) fn finish(mut self) -> String {
        if self.code.contains("${") {
            self.difference("inserting `()`, a list or a map into a text is not an error");
        }
        let mut script = String::new();
        script.push_str("// Converted from a pipeline by `rhai-operator role convert`.\n");
        if !self.differences.is_empty() {
            script.push_str("//\n// Differences from the pipeline:\n");
            for difference in &self.differences {
                let _ = writeln!(script, "// - {difference}");
            }
        }
        script.push_str("let results = #{};\n");
        if self.tracks_step {
            script.push_str("let step = \"\";\n");
        }
        script.push('\n');
        script.push_str(self.code.trim_start_matches('\n'));
        script.push_str("\n// The value for a role that includes this one.\nreturn results;\n");
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
