//! YAML → what a step does.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::super::action::{
    Action, Apply, Assert, Condition, Delete, Event, Include, Manifests, Options, Role,
};
use super::super::parsed::List;
use super::super::scope::RESULTS;
use super::super::step::Step;
use super::super::tree::{Expression, Text, Tree};
use super::step::{Around, NONE};
use super::{File, Mentioned, Reading, Scope};
use crate::model::diagnostics::{Diagnostics, Fields, Item, list_of, nearest};
use crate::model::yaml::{Content, Node};
use crate::pipeline::keys;
use crate::script::Form;

const PROPAGATION: [(&str, &str); 3] = [
    ("background", "background"),
    ("foreground", "foreground"),
    ("orphan", "orphan"),
];

const EVENT_TYPES: [(&str, &str); 2] = [("Normal", "Normal"), ("Warning", "Warning")];

impl Reading<'_> {
    /// The action of a step that has one of this key; none for those that have steps within. What is
    /// wrong is told, and something stands in for it.
    pub(super) fn action(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        key: &str,
        scope: Scope,
    ) -> Option<Action> {
        let broken = Some(Action::Status(Tree::Constant(Value::Null)));
        if key == NONE {
            return broken;
        }
        let Some(item) = fields.get(key) else {
            fields.error(&format!("{key}: expected what to do, found nothing"), "");
            return broken;
        };
        let action = match key {
            "block" | "include" => return None,
            "apply" => self.apply(file, &item, scope),
            "delete" => Some(self.delete(file, &item, scope)),
            "script" => self.script_of(file, &item, scope).map(Action::Script),
            "role" => self.role(file, &item, scope),
            "status" => self.map(file, &item, scope).map(Action::Status),
            "condition" => self.condition(file, &item, scope),
            "event" => self.event(file, &item, scope),
            "assert" => self.assert(file, &item, scope),
            _ => self.fail(file, &item, scope),
        };
        action.or(broken)
    }

    /// A map, or a slot that gives one.
    fn map(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Tree> {
        if !matches!(item.node().content, Content::String(_)) {
            item.entries()?;
        }
        Some(self.tree(file, item.node(), scope))
    }

    fn apply(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Action> {
        let direct = match &item.node().content {
            Content::Map(entries) => entries.iter().any(|(key, _)| is_manifest_key(&key.name)),
            _ => true,
        };
        if direct {
            return Some(Action::Apply(Box::new(Apply {
                manifests: Manifests::Inline(self.manifest(file, item, scope)?),
                options: Options::default(),
            })));
        }
        let fields = item.fields(keys::APPLY)?;
        let manifests = self.manifests(file, &fields, scope);
        let flag = |key| fields.get(key).and_then(|item| item.flag());
        let options = Options {
            owner: flag("owner"),
            force: flag("force"),
            adopt: flag("adopt"),
            recreate: flag("recreate"),
        };
        let manifests = manifests?;
        Some(Action::Apply(Box::new(Apply { manifests, options })))
    }

    fn manifests(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        scope: Scope,
    ) -> Option<Manifests> {
        let [manifest, of_file, template] =
            ["manifest", "file", "template"].map(|key| fields.get(key));
        if let (Some(item), None) = (fields.get("vars"), &template) {
            let hint = "beside a manifest, write vars as a key of the step";
            item.error("is for a template", hint);
        }
        match (manifest, of_file, template) {
            (Some(item), None, None) => Some(Manifests::Inline(self.manifest(file, &item, scope)?)),
            (None, Some(item), None) => self.file_of(file, &item, scope),
            (None, None, Some(item)) => self.template(file, fields, &item, scope),
            (None, None, None) => {
                let hint = "write the manifest itself, or file: FILE, or template: FILE";
                if !fields.has_unknown() {
                    fields.error("nothing to apply", hint);
                }
                None
            }
            _ => {
                let hint = "make two steps, or apply a list";
                fields.error("manifest, file and template exclude one another", hint);
                None
            }
        }
    }

    /// An object, a list of such, or a slot.
    fn manifest(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Tree> {
        match &item.node().content {
            Content::List(_) => {
                for item in item.items().unwrap_or_default() {
                    tell_incomplete(&item, &["apiVersion", "kind"]);
                }
            }
            Content::Map(_) => tell_incomplete(item, &["apiVersion", "kind"]),
            Content::String(text) if text.contains("${") => {}
            Content::String(_) => {
                let hint = "a file is applied with apply: {file: NAME}, a template with \
                            apply: {template: NAME}";
                item.error("expected a manifest, found a text", hint);
                return None;
            }
            other => {
                item.error(&format!("expected a manifest, found {}", other.kind()), "");
                return None;
            }
        }
        Some(self.tree(file, item.node(), scope))
    }

    fn file_of(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Manifests> {
        let place = self.place(file, item.position());
        let name = self.text(file, item, scope)?;
        let Some(path) = name.constant() else {
            return Some(Manifests::File(name, place));
        };
        let folder = self.folder;
        if !self.is_there("files", path, item) {
            return None;
        }
        let path: Arc<str> = path.into();
        let whole = format!("files/{path}");
        let text = folder.text(&whole, &mut self.problems)?;
        let findings = Diagnostics::new(folder.path.join(&whole));
        let documents = findings.parse_all(text);
        for document in &documents {
            tell_incomplete(&Item::root(document, &findings), &["apiVersion", "kind"]);
        }
        self.problems.extend(findings.into_vec());
        let documents = documents.iter().map(Node::to_value).collect();
        Some(Manifests::Documents(path, documents))
    }

    fn template(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        item: &Item<'_>,
        scope: Scope,
    ) -> Option<Manifests> {
        let name = self.text(file, item, scope)?;
        if let Some(path) = name.constant() {
            let is_pattern = path.contains('*');
            if !is_pattern && self.is_there("templates", path, item) {
                self.mentions_of_template(path);
            }
        }
        let vars = fields.get("vars");
        let vars = vars.map(|item| self.variables(file, &item, scope));
        Some(Manifests::Template {
            name,
            vars: vars.unwrap_or_default(),
            place: self.place(file, item.position()),
        })
    }

    /// The results that a template reads.
    fn mentions_of_template(&mut self, name: &str) {
        let Ok(template) = self.templates.get_template(name) else {
            return;
        };
        let names = template.undeclared_variables(true);
        let keys = names.iter().filter_map(|name| match name.split_once('.') {
            Some((RESULTS, rest)) => Some(rest.split('.').next()),
            None if name == RESULTS => Some(None),
            _ => None,
        });
        let keys: Vec<_> = keys.map(|key| key.map(str::to_owned)).collect();
        let mentions = keys.into_iter().map(|key| Mentioned { key, place: None });
        self.mentions.extend(mentions);
    }

    /// Returns whether a folder of the role has a file.
    fn is_there(&self, folder: &str, path: &str, item: &Item<'_>) -> bool {
        let names: Vec<_> = self.folder.below(folder).map(|(name, _)| name).collect();
        if names.contains(&path) {
            return true;
        }
        let hint = match nearest(path, &names) {
            Some(near) => format!("did you mean {near:?}?"),
            None if names.is_empty() => format!("{folder}/ of the role is empty"),
            None if names.len() > 9 => String::new(),
            None => format!("{folder}/ has {}", list_of(&names, "and")),
        };
        item.error(&format!("there is no {folder}/{path}"), &hint);
        false
    }

    fn delete(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Action {
        let items = match item.node().content {
            Content::List(_) => item.items().unwrap_or_default(),
            _ => vec![item.clone()],
        };
        let mut propagation: Option<&'static str> = None;
        let mut objects = Vec::new();
        for item in &items {
            if let Content::String(_) = item.node().content {
                objects.push(self.tree(file, item.node(), scope));
                continue;
            }
            let Some(fields) = item.fields(keys::DELETE) else {
                continue;
            };
            let named = fields.get("metadata").is_some();
            let keys = ["apiVersion", "kind", "name"];
            tell_incomplete(item, &keys[..if named { 2 } else { 3 }]);
            for key in ["apiVersion", "kind", "name", "namespace"] {
                fields.get(key).map(|item| item.text());
            }
            let chosen = fields.get("propagation");
            let chosen = chosen.and_then(|item| Some((item.choice(&PROPAGATION)?, item)));
            if let Some((chosen, item)) = chosen {
                if propagation.is_some_and(|before| before != chosen) {
                    item.error("one step has one propagation", "make two steps");
                }
                propagation = Some(chosen);
            }
            let mut node = item.node().clone();
            if let Content::Map(entries) = &mut node.content {
                entries.retain(|(key, _)| key.name != "propagation");
            }
            objects.push(self.tree(file, &node, scope));
        }
        // A slot may give a list of its own.
        let whole = matches!(item.node().content, Content::String(_));
        let objects = match (whole, objects.pop()) {
            (true, Some(slot)) => slot,
            (false, Some(last)) => {
                objects.push(last);
                Tree::list(objects)
            }
            (_, None) => Tree::list(objects),
        };
        Action::Delete(Delete {
            objects,
            propagation,
        })
    }

    /// Code, or a file of it.
    fn script_of(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Expression> {
        let named = match &item.node().content {
            Content::Map(_) => Some(item.fields(keys::SCRIPT)?.required("file", None)?),
            Content::String(text) if is_script_name(text) => Some(item.clone()),
            _ => None,
        };
        let Some(item) = named else {
            return self.script(file, item, Form::Script, scope);
        };
        let name = item.text()?;
        if !self.is_there("tasks", name, &item) {
            return None;
        }
        let place = self.place(file, item.position());
        Some(self.script_file(&format!("tasks/{name}"), place, scope))
    }

    fn role(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Action> {
        let fields = match item.node().content {
            Content::Map(_) => Some(item.fields(keys::ROLE)?),
            _ => None,
        };
        let name = match &fields {
            Some(fields) => fields.required("name", None)?,
            None => item.clone(),
        };
        let vars = fields.and_then(|fields| fields.get("vars"));
        Some(Action::Role(Role {
            place: self.place(file, name.position()),
            name: self.text(file, &name, scope)?,
            vars: vars
                .map(|item| self.variables(file, &item, scope))
                .unwrap_or_default(),
        }))
    }

    fn condition(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Action> {
        let fields = item.fields(keys::CONDITION)?;
        let [kind, status, reason] =
            ["type", "status", "reason"].map(|key| fields.required(key, None));
        let message = fields.get("message");
        let status = status.map(|item| self.tree(file, item.node(), scope));
        let mut text = |item: Option<Item<'_>>| self.text(file, &item?, scope);
        let (kind, reason, message) = (text(kind), text(reason), text(message));
        Some(Action::Condition(Condition {
            kind: kind?,
            status: status?,
            reason: reason?,
            message: message.unwrap_or_else(|| Text::Constant("".into())),
        }))
    }

    fn event(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Action> {
        let fields = item.fields(keys::EVENT)?;
        let kind = fields.get("type");
        if let Some(kind) = &kind
            && !matches!(&kind.node().content, Content::String(text) if text.contains("${"))
        {
            kind.choice(&EVENT_TYPES);
        }
        let [reason, message] = ["reason", "message"].map(|key| fields.required(key, None));
        let mut text = |item: Option<Item<'_>>| self.text(file, &item?, scope);
        let (kind, reason, message) = (text(kind), text(reason), text(message));
        Some(Action::Event(Event {
            kind: kind.unwrap_or_else(|| Text::Constant("Normal".into())),
            reason: reason?,
            message: message?,
        }))
    }

    fn assert(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Action> {
        let fields = match item.node().content {
            Content::Map(_) => Some(item.fields(keys::ASSERT)?),
            _ => None,
        };
        let that = match &fields {
            Some(fields) => fields.required("that", None)?,
            None => item.clone(),
        };
        let message = fields.and_then(|fields| fields.get("message"));
        Some(Action::Assert(Assert {
            that: self.tests(file, &that, scope),
            message: message.and_then(|item| self.text(file, &item, scope)),
        }))
    }

    fn fail(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Action> {
        let message = match item.node().content {
            Content::Map(_) => item.fields(keys::FAIL)?.required("message", None)?,
            _ => item.clone(),
        };
        self.text(file, &message, scope).map(Action::Fail)
    }

    /// The steps of a file of `tasks/`.
    pub(super) fn include(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        step: &mut Step,
        around: &Around,
    ) -> Vec<List> {
        let named = match item.node().content {
            Content::Map(_) => item
                .fields(keys::INCLUDE)
                .and_then(|fields| fields.required("file", None)),
            _ => Some(item.clone()),
        };
        let Some(item) = named else { return Vec::new() };
        let Some(name) = item
            .text()
            .filter(|name| self.is_there("tasks", name, &item))
        else {
            return Vec::new();
        };
        let path: Arc<str> = format!("tasks/{name}").into();
        step.action = Action::Include(Include {
            file: Arc::clone(&path),
            steps: Vec::new(),
        });
        if is_rhai(name) {
            item.error(
                "expected a file of steps, found a script",
                "write script: {file: …}",
            );
            return Vec::new();
        }
        if let Some(first) = file.above.iter().position(|above| *above == path) {
            let circle = file.above[first..].iter().chain([&path]);
            let circle: Vec<&str> = circle.map(AsRef::as_ref).collect();
            item.error(&format!("include cycle: {}", circle.join(" → ")), "");
            return Vec::new();
        }
        let list = self.steps_of(&path, file.above, around);
        list.into_iter().collect()
    }
}

/// Keys that only a manifest has; a mistyped one of them still is one.
fn is_manifest_key(key: &str) -> bool {
    ["apiVersion", "kind", "metadata", "spec", "data"].contains(&key)
}

/// Returns whether a `script` names a file: as code it would be a property of a variable that does not exist.
fn is_script_name(text: &str) -> bool {
    is_rhai(text) && !text.contains(char::is_whitespace) && !text.contains('(')
}

fn is_rhai(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending == "rhai")
}

/// Tells the keys that an object needs and does not have.
fn tell_incomplete(item: &Item<'_>, keys: &[&str]) {
    let Content::Map(entries) = &item.node().content else {
        if !matches!(&item.node().content, Content::String(text) if text.contains("${")) {
            let found = item.node().content.kind();
            item.error(&format!("expected an object, found {found}"), "");
        }
        return;
    };
    for wanted in keys {
        let found = entries.iter().find(|(key, _)| key.name == **wanted);
        match found {
            Some((_, value)) if value.content != Content::Null => {}
            _ => item.error(&format!("{wanted} is missing"), ""),
        }
    }
}
