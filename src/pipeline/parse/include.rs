//! Parses the files of steps that a pipeline consists of.

use std::path::Path;
use std::sync::Arc;

use super::parser::{File, InheritedScope, Parser};
use crate::model::diagnostics::{Diagnostics, Fields, Item};
use crate::model::yaml::Content;
use crate::pipeline::keys;
use crate::pipeline::parsed::{ParsedAction, StepList};

impl Parser<'_> {
    /// Parses a file of steps; `ancestors` are the files whose `include` led to it.
    pub(super) fn steps_of_file(
        &mut self,
        path: &Arc<str>,
        ancestors: &[Arc<str>],
        inherited: &InheritedScope,
    ) -> Option<StepList> {
        let role_files = self.role_files;
        self.parsed_files.insert(Arc::clone(path));
        let text = role_files.text(path, &mut self.problems)?;
        let findings = Diagnostics::new(role_files.path.join(&**path));
        let ancestors = [ancestors, &[Arc::clone(path)]].concat();
        let file = File {
            path,
            text,
            findings: &findings,
            ancestors: &ancestors,
        };
        let list = findings.parse(text).map(|root| {
            if matches!(&root.content, Content::List(items) if items.is_empty()) {
                findings.warning(root.position, "the list of steps is empty", "");
            }
            self.list(file, &Item::root(&root, &findings), inherited)
        });
        for problem in findings.into_vec() {
            // A file that is included twice is parsed twice.
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        list
    }

    /// Parses `include`: the name of a file of `tasks/`.
    pub(super) fn include(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        inherited: &InheritedScope,
    ) -> Option<ParsedAction> {
        let Some(item) = fields.get("include") else {
            fields.error("include: expected a file, found nothing", "");
            return None;
        };
        let item = match item.node().content {
            Content::Map(_) => item.fields(keys::INCLUDE)?.required("file", None)?,
            _ => item,
        };
        let name = item.text()?;
        if !self.file_exists("tasks", name, &item) {
            return None;
        }
        if is_script(name) {
            item.error(
                "expected a file of steps, found a script",
                "write script: {file: …}",
            );
            return None;
        }
        let path: Arc<str> = format!("tasks/{name}").into();
        if let Some(first) = file.ancestors.iter().position(|above| *above == path) {
            let circle = file.ancestors[first..].iter().chain([&path]);
            let circle: Vec<&str> = circle.map(AsRef::as_ref).collect();
            item.error(&format!("include cycle: {}", circle.join(" → ")), "");
            return None;
        }
        let steps = self.steps_of_file(&path, file.ancestors, inherited)?;
        Some(ParsedAction::Include { steps })
    }
}

/// Returns whether a file is a script by its name.
pub(super) fn is_script(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension == "rhai")
}
