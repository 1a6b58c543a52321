//! Parses the actions that contain no steps.

use std::sync::Arc;

use super::include::is_script;
use super::values::ValueParser;
use crate::model::diagnostics::{Fields, Item};
use crate::model::yaml::Content;
use crate::pipeline::action::{Assert, Condition, Event, Role, Script};
use crate::pipeline::keys;
use crate::pipeline::step::Action;
use crate::pipeline::tree::{TextTemplate, Tree};
use crate::script::SnippetForm;

const EVENT_TYPES: [(&str, &str); 2] = [("Normal", "Normal"), ("Warning", "Warning")];

impl ValueParser<'_, '_, '_> {
    /// Parses the action of a key; none if it has an error, which is reported.
    pub(super) fn action(&mut self, fields: &Fields<'_>, key: &str) -> Option<Action> {
        let Some(item) = fields.get(key) else {
            fields.error(&format!("{key}: expected a value, found nothing"), "");
            return None;
        };
        match key {
            "apply" => self.apply(&item).map(Box::new).map(Action::Apply),
            "delete" => Some(Action::Delete(self.delete(&item))),
            "script" => self.script(&item).map(Action::Script),
            "role" => self.role(&item).map(Action::Role),
            "status" => self.map(&item).map(Action::Status),
            "condition" => self.condition(&item).map(Action::Condition),
            "event" => self.event(&item).map(Action::Event),
            "assert" => self.assert(&item).map(Action::Assert),
            _ => self.fail(&item).map(Action::Fail),
        }
    }

    /// Parses a map, or a slot whose value is one.
    fn map(&mut self, item: &Item<'_>) -> Option<Tree> {
        if !matches!(item.node().content, Content::String(_)) {
            item.entries()?;
        }
        Some(self.tree(item.node()))
    }

    /// Parses code, or the name of a script file.
    fn script(&mut self, item: &Item<'_>) -> Option<Script> {
        let named = match &item.node().content {
            Content::Map(_) => Some(item.fields(keys::SCRIPT)?.required("file", None)?),
            Content::String(text) if is_script_name(text) => Some(item.clone()),
            _ => None,
        };
        let Some(item) = named else {
            return self.code(item, SnippetForm::Script).map(Script::Inline);
        };
        let name = item.text()?;
        if !self.parser.file_exists("tasks", name, &item) {
            return None;
        }
        let path: Arc<str> = format!("tasks/{name}").into();
        let snippet = self.add_script_file(&path);
        Some(Script::File { path, snippet })
    }

    fn role(&mut self, item: &Item<'_>) -> Option<Role> {
        let fields = match item.node().content {
            Content::Map(_) => Some(item.fields(keys::ROLE)?),
            _ => None,
        };
        let name = match &fields {
            Some(fields) => fields.required("name", None)?,
            None => item.clone(),
        };
        let vars = fields.and_then(|fields| fields.get("vars"));
        Some(Role {
            location: self.location(name.position()),
            name: self.text(&name)?,
            vars: vars.map(|item| self.variables(&item)).unwrap_or_default(),
        })
    }

    fn condition(&mut self, item: &Item<'_>) -> Option<Condition> {
        let fields = item.fields(keys::CONDITION)?;
        let [kind, status, reason] =
            ["type", "status", "reason"].map(|key| fields.required(key, None));
        let message = fields.get("message");
        let status = status.map(|item| self.tree(item.node()));
        let mut text = |item: Option<Item<'_>>| self.text(&item?);
        let (kind, reason, message) = (text(kind), text(reason), text(message));
        Some(Condition {
            kind: kind?,
            status: status?,
            reason: reason?,
            message: message.unwrap_or_else(|| TextTemplate::Constant("".into())),
        })
    }

    fn event(&mut self, item: &Item<'_>) -> Option<Event> {
        let fields = item.fields(keys::EVENT)?;
        let kind = fields.get("type");
        if let Some(kind) = &kind
            && !matches!(&kind.node().content, Content::String(text) if text.contains("${"))
        {
            kind.choice(&EVENT_TYPES);
        }
        let [reason, message] = ["reason", "message"].map(|key| fields.required(key, None));
        let mut text = |item: Option<Item<'_>>| self.text(&item?);
        let (kind, reason, message) = (text(kind), text(reason), text(message));
        Some(Event {
            kind: kind.unwrap_or_else(|| TextTemplate::Constant("Normal".into())),
            reason: reason?,
            message: message?,
        })
    }

    fn assert(&mut self, item: &Item<'_>) -> Option<Assert> {
        let fields = match item.node().content {
            Content::Map(_) => Some(item.fields(keys::ASSERT)?),
            _ => None,
        };
        let that = match &fields {
            Some(fields) => fields.required("that", None)?,
            None => item.clone(),
        };
        let message = fields.and_then(|fields| fields.get("message"));
        Some(Assert {
            that: self.tests(&that),
            message: message.and_then(|item| self.text(&item)),
        })
    }

    fn fail(&mut self, item: &Item<'_>) -> Option<TextTemplate> {
        let message = match item.node().content {
            Content::Map(_) => item.fields(keys::FAIL)?.required("message", None)?,
            _ => item.clone(),
        };
        self.text(&message)
    }
}

/// Returns whether a `script` names a file: as code, it would be a property of an unknown variable.
fn is_script_name(text: &str) -> bool {
    is_script(text) && !text.contains(char::is_whitespace) && !text.contains('(')
}
