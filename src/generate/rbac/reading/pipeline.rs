//! Reads the steps of pipelines.

use super::Reading;
use super::host_calls::Pattern;
use super::values::{RESULT, Unit};
use crate::generate::rbac::api_use::{Operation, Site};
use crate::generate::rbac::manifest_text;
use crate::generate::rbac::objects::{Manifest, ObjectSet, grants};
use crate::model::Gvk;
use crate::pipeline::{
    Action, Apply, Expression, Loop, Manifests, Script, SourceLocation, Step, TextPart,
    TextTemplate, Tree,
};
use crate::script::SnippetId;

impl Reading<'_> {
    pub(super) fn steps(&mut self, steps: &[Step]) -> ObjectSet {
        let steps = steps.iter();
        steps.map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> ObjectSet {
        if let Some(repeat) = &step.repeat {
            let items = match repeat {
                Loop::Items(tree) => self.tree(tree),
                Loop::Expression(expression) => self.snippet(expression.snippet),
                Loop::Query(_) => ObjectSet::computed(),
            };
            self.values.add_step("item", "", items);
        }
        for (name, tree) in &step.vars {
            let value = self.tree(tree);
            self.values.add_step("vars", name, value);
        }
        let value = self.action(step);
        if step.ready.is_some() && !matches!(step.action, Action::Apply(_) | Action::Delete(_)) {
            let site = self.step_site(&step.location, "ready");
            self.record(&site, Operation::Read, &value);
        }
        if let Some(name) = &step.register {
            self.values.add_step("results", name, value.clone());
        }
        value
    }

    fn action(&mut self, step: &Step) -> ObjectSet {
        let location = &step.location;
        match &step.action {
            Action::Apply(apply) => self.apply(apply, location),
            Action::Delete(delete) => {
                let objects = self.tree(&delete.objects);
                let site = self.step_site(location, "delete");
                self.record(&site, Operation::Delete, &objects);
                ObjectSet::default()
            }
            Action::Script(Script::Inline(expression)) => self.snippet(expression.snippet),
            Action::Script(Script::File { snippet, .. }) => self.snippet(*snippet),
            Action::Role(role) => {
                let site = self.step_site(&role.location, "role");
                self.record_role(site, role.name.constant().map(str::to_owned));
                ObjectSet::computed()
            }
            Action::Include(include) => self.steps(&include.steps),
            Action::Block(block) => {
                let mut value = self.steps(&block.steps);
                value.join(self.steps(block.rescue.as_deref().unwrap_or_default()));
                value.join(self.steps(&block.always));
                value
            }
            _ => ObjectSet::default(),
        }
    }

    fn apply(&mut self, apply: &Apply, location: &SourceLocation) -> ObjectSet {
        let objects = match &apply.manifests {
            Manifests::Inline(tree) => self.tree(tree),
            Manifests::Documents(_, values) => manifest_text::objects_of_values(values),
            Manifests::File(name, _) => self.files(&name_pattern(name)),
            Manifests::Template { name, .. } => self.templates(&name_pattern(name)),
        };
        let operation = match apply.options.owner {
            Some(false) => Operation::ApplyShared,
            _ => Operation::Apply,
        };
        let site = self.step_site(location, "apply");
        self.record(&site, operation, &objects);
        objects
    }

    fn tree(&mut self, tree: &Tree) -> ObjectSet {
        match tree {
            Tree::Constant(serde_json::Value::String(text)) => {
                manifest_text::objects_of_literal(text)
            }
            Tree::Constant(value) => ObjectSet::of_value(value),
            Tree::Slot(expression) => self.snippet(expression.snippet),
            Tree::Text(parts) => manifest_text::objects_of_literal(&text_of(parts)),
            Tree::List(items) => items.iter().map(|item| self.tree(item)).collect(),
            Tree::Map(entries) => self.map(entries),
        }
    }

    fn map(&mut self, entries: &[(TextTemplate, Tree)]) -> ObjectSet {
        let within: ObjectSet = entries.iter().map(|(_, tree)| self.tree(tree)).collect();
        let entry = |name: &str| {
            let mut entries = entries.iter();
            entries.find_map(|(key, tree)| (key.constant() == Some(name)).then_some(tree))
        };
        let (Some(version), Some(kind)) = (entry("apiVersion"), entry("kind")) else {
            return within;
        };
        let (Some(version), Some(kind)) = (text(version), text(kind)) else {
            return ObjectSet::computed();
        };
        let gvk = Gvk::from_api_version(version, kind);
        let parts = ["rules", "roleRef"].into_iter().filter_map(|key| {
            let tree = entry(key)?;
            Some(tree.constant().map(|value| (key.to_owned(), value.clone())))
        });
        let parts = parts.collect::<Option<serde_json::Map<_, _>>>();
        let parts = parts.map(serde_json::Value::Object);
        let names_namespace = entry("namespace").is_some_and(|tree| !is_own_namespace(tree))
            || entry("metadata").is_some_and(has_namespace);
        ObjectSet::of_manifest(Manifest {
            names_namespace,
            grants: grants(&gvk, parts.as_ref()),
            gvk,
        })
    }

    fn snippet(&self, snippet: SnippetId) -> ObjectSet {
        let value = self.values.get(Unit::Snippet(snippet), "", RESULT);
        value.cloned().unwrap_or_default()
    }

    fn step_site(&self, location: &SourceLocation, call: &'static str) -> Site {
        let prefix = format!("{}/", self.role.name);
        let file = location.file.strip_prefix(&*prefix);
        Site {
            role: self.role.name.clone(),
            file: file.unwrap_or(&location.file).to_owned(),
            line: location.line,
            column: location.column,
            call,
        }
    }
}

fn text(tree: &Tree) -> Option<&str> {
    tree.constant()?.as_str()
}

fn is_own_namespace(tree: &Tree) -> bool {
    matches!(tree, Tree::Slot(Expression { text, .. }) if &**text == "meta.namespace")
}

fn has_namespace(metadata: &Tree) -> bool {
    match metadata {
        Tree::Constant(value) => value.get("namespace").is_some(),
        Tree::Map(entries) => entries
            .iter()
            .any(|(key, tree)| key.constant() == Some("namespace") && !is_own_namespace(tree)),
        _ => false,
    }
}

fn text_of(parts: &[TextPart]) -> String {
    let parts = parts.iter().map(|part| match part {
        TextPart::Literal(text) => text,
        TextPart::Slot(_) => "{{ }}",
    });
    parts.collect()
}

fn name_pattern(name: &TextTemplate) -> Pattern {
    match name {
        TextTemplate::Constant(text) => Pattern::new([Some(&**text)].into_iter()),
        TextTemplate::Parts(parts) => Pattern::new(parts.iter().map(|part| match part {
            TextPart::Literal(text) => Some(&**text),
            TextPart::Slot(_) => None,
        })),
    }
}
