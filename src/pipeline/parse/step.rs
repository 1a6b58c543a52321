//! Parses lists of steps and the keys of a step.

use std::sync::Arc;
use std::time::Duration;

use super::parser::{File, InheritedScope, Parser};
use super::values::{ValueParser, is_query};
use crate::model::diagnostics::{Fields, Item, list_of};
use crate::model::yaml::{Content, Key, Node, Position};
use crate::pipeline::keys::{ACTIONS, STEP};
use crate::pipeline::parsed::{ParsedAction, ParsedStep, ResultUse, StepList};
use crate::pipeline::scope::{OBJECT, RESULT, Scope};
use crate::pipeline::step::{Loop, Ready};
use crate::pipeline::tree::Test;

/// The conditions that a step waits for.
struct StepGates {
    ready: Option<Ready>,
    until: Vec<Test>,
    timeout: Option<Duration>,
    /// The results that the conditions use.
    uses: Vec<ResultUse>,
}

impl Parser<'_> {
    /// Parses a list of steps.
    pub(super) fn list(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        inherited: &InheritedScope,
    ) -> StepList {
        let mut list = self.new_list(file);
        let mut items = Vec::new();
        if let Content::List(_) = item.node().content {
            items = item.items().unwrap_or_default();
        } else {
            report_no_list(item);
        }
        for (index, item) in items.iter().enumerate() {
            // The root of a path in a message is the step.
            let item = Item::root(item.node(), file.findings);
            list.steps.extend(self.step(file, &item, index, inherited));
        }
        list
    }

    fn step(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        index: usize,
        inherited: &InheritedScope,
    ) -> Option<ParsedStep> {
        let Content::Map(_) = item.node().content else {
            item.unexpected("a step", "write a map with an action: - apply: …");
            return None;
        };
        let fields = item.fields(STEP)?;
        let action = find_action(&fields, item.node());
        let action = action.as_ref().map(|key| &*key.name);
        let mut scope = inherited.scope;
        scope.item |= fields.get("loop").is_some();
        let name = fields.get("name").and_then(|item| parse_name(&item));
        let register = fields.get("register").and_then(|item| parse_name(&item));
        let mut tags = inherited.tags.clone();
        tags.extend(parse_words(fields.get("tags").as_ref()));

        let mut values = ValueParser::new(self, file, scope);
        let repeat = fields.get("loop").and_then(|item| {
            // The list does not see the item that comes from it.
            values.with_scope(inherited.scope, |values| values.repeat(&item))
        });
        let vars = fields.get("vars");
        let vars = vars.map(|item| values.variables(&item));
        let when = values.tests_of(&fields, "when");
        let plain = match action {
            Some("block" | "include") | None => None,
            Some(key) => values.action(&fields, key),
        };
        let uses = std::mem::take(&mut values.uses);
        let gates = values.gates(&fields, action, scope);
        let inner = InheritedScope { scope, tags };
        let nested = match action {
            Some("block") => self.block(file, &fields, &inner),
            Some("include") => self.include(file, &fields, &inner),
            _ => None,
        };
        let action_name = action.unwrap_or("step");
        Some(ParsedStep {
            is_named: fields.get("name").is_some(),
            register: register.or_else(|| name.clone()),
            name: name.unwrap_or_else(|| format!("{action_name} {}", index + 1).into()),
            location: self.location(file, fields.position()),
            position: item.position(),
            needs: fields.get("needs").map(|item| parse_needs(&item)),
            when,
            repeat,
            vars: vars.unwrap_or_default(),
            tags: inner.tags,
            action: nested
                .or_else(|| plain.map(ParsedAction::Plain))
                .unwrap_or(ParsedAction::Invalid),
            ready: gates.ready,
            until: gates.until,
            timeout: gates.timeout,
            retries: fields.get("retries").and_then(|item| item.count(0)),
            uses,
            gate_uses: gates.uses,
        })
    }

    /// Parses a block with its `rescue` and `always`.
    fn block(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        inherited: &InheritedScope,
    ) -> Option<ParsedAction> {
        let Some(block) = fields.get("block") else {
            fields.error("block: expected a list of steps, found nothing", "");
            return None;
        };
        let steps = self.list(file, &block, inherited);
        let rescue = fields.get("rescue").map(|item| {
            let mut inherited = inherited.clone();
            inherited.scope.error = true;
            self.list(file, &item, &inherited)
        });
        let always = match fields.get("always") {
            Some(item) => self.list(file, &item, inherited),
            None => self.new_list(file),
        };
        Some(ParsedAction::Block {
            steps,
            rescue,
            always,
        })
    }
}

impl ValueParser<'_, '_, '_> {
    fn tests_of(&mut self, fields: &Fields<'_>, key: &str) -> Vec<Test> {
        let item = fields.get(key);
        item.map(|item| self.tests(&item)).unwrap_or_default()
    }

    /// Parses the items that a step is repeated for.
    fn repeat(&mut self, item: &Item<'_>) -> Option<Loop> {
        match &item.node().content {
            Content::List(_) | Content::Map(_) => Some(Loop::Items(self.tree(item.node()))),
            _ if is_query(item) => self.query(item).map(Loop::Query),
            Content::String(_) => self.expression(item).map(Loop::Expression),
            _ => {
                item.unexpected("a list, a map, or Rhai or JSONPath that returns one", "");
                None
            }
        }
    }

    /// Parses `ready`, `until` and `timeout`.
    fn gates(&mut self, fields: &Fields<'_>, action: Option<&str>, scope: Scope) -> StepGates {
        let with = |gate| Scope {
            gate: Some(gate),
            ..scope
        };
        let ready = self.with_scope(with(OBJECT), |values| values.ready(fields, action));
        let until = self.with_scope(with(RESULT), |values| values.tests_of(fields, "until"));
        let timeout = fields.get("timeout");
        if let Some(item) = &timeout
            && ready.is_none()
            && until.is_empty()
            && !can_wait(action)
        {
            item.error(
                "the step never waits",
                "add ready or until, or remove timeout",
            );
        }
        StepGates {
            ready,
            until,
            timeout: timeout.and_then(|item| item.duration()),
            uses: std::mem::take(&mut self.uses),
        }
    }

    fn ready(&mut self, fields: &Fields<'_>, action: Option<&str>) -> Option<Ready> {
        let item = fields.get("ready")?;
        if let Some(action) = action
            && !["apply", "delete", "script", "role"].contains(&action)
        {
            let message =
                format!("expected apply, delete, script or role in the step, found {action}");
            item.error(&message, "write until: EXPRESSION");
        }
        match item.node().content {
            Content::Bool(flag) => flag.then_some(Ready::Status),
            _ => self.test(&item).map(Ready::Test),
        }
    }
}

fn report_no_list(item: &Item<'_>) {
    let found = item.node().content.kind();
    let message = format!("expected a list of steps, found {found}");
    let is_manifest = matches!(&item.node().content, Content::Map(entries)
        if entries.iter().any(|(key, _)| key.name == "apiVersion"));
    let hint = if is_manifest {
        "apply the object with a step: - apply: {apiVersion: …}"
    } else {
        "begin each step with a dash: - apply: …"
    };
    item.error(&message, hint);
}

/// Returns the only key that is an action.
fn find_action(fields: &Fields<'_>, node: &Node) -> Option<Key> {
    let Content::Map(entries) = &node.content else {
        return None;
    };
    let keys = entries.iter().map(|(key, _)| key);
    let mut actions = keys.filter(|key| ACTIONS.contains(&&*key.name));
    let Some(first) = actions.next() else {
        if !fields.has_unknown() {
            let hint = format!("add {}", list_of(ACTIONS, "or"));
            fields.error("the step has no action", &hint);
        }
        return None;
    };
    for other in actions {
        let message = format!("the step already has the action {}", first.name);
        fields.error_at(other.position, &message, "move it to a step of its own");
    }
    if !entries.iter().any(|(key, _)| key.name == "block") {
        for (key, _) in entries {
            if ["rescue", "always"].contains(&&*key.name) {
                let message = format!("{} requires block", key.name);
                fields.error_at(key.position, &message, "add block: with a list of steps");
            }
        }
    }
    Some(first.clone())
}

/// Returns whether an action can wait without gates.
fn can_wait(action: Option<&str>) -> bool {
    action.is_none_or(|action| ["script", "role", "include", "block"].contains(&action))
}

/// Parses a name: a text that is not empty.
fn parse_name(item: &Item<'_>) -> Option<Arc<str>> {
    let text = item.text()?;
    if text.contains("${") {
        item.error("a name cannot contain an expression", "");
        return None;
    }
    item.text_like("a name", |text| !text.trim().is_empty())
        .map(Arc::from)
}

/// Parses one word or a list of words.
fn parse_words(item: Option<&Item<'_>>) -> Vec<Arc<str>> {
    let texts = item.map(parse_texts).unwrap_or_default();
    texts.into_iter().map(|(text, _)| text.into()).collect()
}

fn parse_needs(item: &Item<'_>) -> Vec<(String, Position)> {
    let texts = parse_texts(item).into_iter();
    texts.map(|(text, at)| (text.to_owned(), at)).collect()
}

fn parse_texts<'a>(item: &Item<'a>) -> Vec<(&'a str, Position)> {
    let items = match item.node().content {
        Content::List(_) => item.items().unwrap_or_default(),
        Content::Map(_) => {
            item.unexpected("a word or a list of words", "");
            Vec::new()
        }
        _ => vec![item.clone()],
    };
    let items = items.iter();
    items
        .filter_map(|item| Some((item.text()?, item.position())))
        .collect()
}
