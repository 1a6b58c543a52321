//! YAML → steps: every key of a step, with all that is wrong in it told at its place.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::action::{Action, Block};
use super::super::parsed::{Draft, List};
use super::super::scope::{OBJECT, RESULT};
use super::super::step::{Loop, Ready, Step};
use super::{File, Reading, Scope, is_query};
use crate::model::diagnostics::{Fields, Item, list_of};
use crate::model::yaml::{Content, Key, Node, Position};
use crate::pipeline::keys::{ACTIONS, STEP};

/// What steps have from what they are in.
#[derive(Clone, Debug, Default)]
pub(in crate::pipeline) struct Around {
    pub(in crate::pipeline) scope: Scope,
    pub(in crate::pipeline) tags: BTreeSet<Arc<str>>,
}

impl Reading<'_> {
    /// The steps of a list.
    pub(in crate::pipeline) fn list(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        around: &Around,
    ) -> List {
        let number = self.lists;
        self.lists += 1;
        let items = if let Content::List(_) = item.node().content {
            item.items().unwrap_or_default()
        } else {
            let found = item.node().content.kind();
            let message = format!("expected a list of steps, found {found}");
            let is_manifest = matches!(&item.node().content, Content::Map(entries)
                if entries.iter().any(|(key, _)| key.name == "apiVersion"));
            let hint = if is_manifest {
                "an object is applied by a step: - apply: {apiVersion: …}"
            } else {
                "begin each step with a dash: - apply: …"
            };
            item.error(&message, hint);
            Vec::new()
        };
        // Paths in messages are those within a step.
        let items = items
            .iter()
            .map(|item| Item::root(item.node(), file.findings));
        let drafts = items
            .enumerate()
            .filter_map(|(index, item)| self.step(file, &item, index, around));
        List {
            number,
            drafts: drafts.collect(),
            file: Arc::clone(file.path),
        }
    }

    fn step(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        index: usize,
        around: &Around,
    ) -> Option<Draft> {
        let Content::Map(_) = item.node().content else {
            item.unexpected("a step", "a step has keys: - apply: …");
            return None;
        };
        let fields = item.fields(STEP)?;
        // One that does nothing has a name all the same.
        let action = Self::action_of(&fields, item.node());
        let action = action.map_or_else(|| NONE.to_owned(), |key| key.name);
        let mut scope = around.scope;
        scope.item |= fields.get("loop").is_some();
        let first = self.excerpts.len();
        self.mentions.clear();
        let mut step = self.head(file, &fields, (&action, index), (around, scope));
        let plain = self.action(file, &fields, &action, scope);
        let (code, mentions) = (
            first..self.excerpts.len(),
            std::mem::take(&mut self.mentions),
        );
        self.gates(file, &fields, &mut step, (&action, scope));
        let gates = code.end..self.excerpts.len();
        let gate_mentions = std::mem::take(&mut self.mentions);
        let inner = Around {
            scope,
            tags: step.tags.clone(),
        };
        let within = match plain {
            Some(plain) => {
                step.action = plain;
                Vec::new()
            }
            None => self.nested(file, &fields, &mut step, &inner),
        };
        Some(Draft {
            needs: fields.get("needs").map(|item| needs(&item)),
            position: item.position(),
            named: fields.get("name").is_some(),
            step,
            code,
            gates,
            mentions,
            gate_mentions,
            within,
        })
    }

    /// All of a step but its action, its gates and its needs.
    fn head(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        (action, index): (&str, usize),
        (around, scope): (&Around, Scope),
    ) -> Step {
        let mut tags = around.tags.clone();
        let own = fields.get("tags").map(|item| words(&item));
        tags.extend(own.unwrap_or_default());
        let name = fields.get("name").and_then(|item| name(&item));
        let register = fields.get("register").and_then(|item| self::name(&item));
        let repeat = fields.get("loop");
        let vars = fields.get("vars");
        Step {
            register: register.or_else(|| name.clone()),
            name: name.unwrap_or_else(|| format!("{action} {}", index + 1).into()),
            place: self.place(file, fields.position()),
            needs: Vec::new(),
            repeat: repeat.and_then(|item| self.repeat(file, &item, around.scope)),
            vars: vars
                .map(|item| self.variables(file, &item, scope))
                .unwrap_or_default(),
            when: self.tests_of(file, fields, "when", scope),
            tags,
            action: Action::Block(Block::default()),
            ready: None,
            until: Vec::new(),
            timeout: fields.get("timeout").and_then(|item| item.duration()),
            retries: fields.get("retries").and_then(|item| item.count(0)),
        }
    }

    /// The one key that is an action.
    fn action_of(fields: &Fields<'_>, node: &Node) -> Option<Key> {
        let Content::Map(entries) = &node.content else {
            return None;
        };
        let keys = entries.iter().map(|(key, _)| key);
        let mut actions = keys.filter(|key| ACTIONS.contains(&&*key.name));
        let Some(first) = actions.next() else {
            if !fields.has_unknown() {
                let hint = format!("a step does one of {}", list_of(ACTIONS, "and"));
                fields.error("the step does nothing", &hint);
            }
            return None;
        };
        for other in actions {
            let message = format!(
                "a step has one action, and this one has {} already",
                first.name
            );
            fields.error_at(other.position, &message, "make it a step of its own");
        }
        if !entries.iter().any(|(key, _)| key.name == "block") {
            for (key, _) in entries.iter().filter(|(key, _)| is_section(&key.name)) {
                let message = format!("{} belongs to a block", key.name);
                fields.error_at(key.position, &message, "write block: [the steps] beside it");
            }
        }
        Some(first.clone())
    }

    fn tests_of(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        key: &str,
        scope: Scope,
    ) -> Vec<crate::pipeline::Test> {
        let item = fields.get(key);
        item.map(|item| self.tests(file, &item, scope))
            .unwrap_or_default()
    }

    /// What a step is repeated for; the list does not see the step's own item.
    fn repeat(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Loop> {
        match &item.node().content {
            Content::List(_) | Content::Map(_) => {
                Some(Loop::Items(self.tree(file, item.node(), scope)))
            }
            _ if is_query(item) => self.query(file, item, scope).map(Loop::Query),
            Content::String(_) => self.expression(file, item, scope).map(Loop::Expression),
            _ => {
                item.unexpected("a list, a map, or Rhai or JSONPath that gives one", "");
                None
            }
        }
    }

    fn gates(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        step: &mut Step,
        (action, scope): (&str, Scope),
    ) {
        let gate = |name| Scope {
            gate: Some(name),
            ..scope
        };
        if let Some(item) = fields.get("ready") {
            if ![NONE, "apply", "delete", "script", "role"].contains(&action) {
                let hint = "a gate on anything is written until: EXPRESSION";
                item.error(
                    &format!("{action} makes no object that could be ready"),
                    hint,
                );
            }
            step.ready = match item.node().content {
                Content::Bool(flag) => flag.then_some(Ready::Status),
                _ => self.test(file, &item, gate(OBJECT)).map(Ready::Test),
            };
        }
        step.until = self.tests_of(file, fields, "until", gate(RESULT));
        let waits = step.ready.is_some() || !step.until.is_empty();
        let may_wait = waits || [NONE, "script", "role", "include", "block"].contains(&action);
        if let Some(item) = fields.get("timeout").filter(|_| !may_wait) {
            let hint = "it bounds the waiting of `ready` and `until`";
            item.error("the step never waits", hint);
        }
    }

    /// The steps within a step.
    fn nested(
        &mut self,
        file: File<'_>,
        fields: &Fields<'_>,
        step: &mut Step,
        around: &Around,
    ) -> Vec<List> {
        if let Some(item) = fields.get("include") {
            return self.include(file, &item, step, around);
        }
        step.action = Action::Block(Block {
            rescue: fields.get("rescue").map(|_| Vec::new()),
            ..Block::default()
        });
        let sections = ["block", "rescue", "always"];
        let lists = sections.map(|section| {
            let mut around = around.clone();
            around.scope.error |= section == "rescue";
            let item = fields.get(section);
            let list = item.map(|item| self.list(file, &item, &around));
            list.unwrap_or_default()
        });
        lists.into()
    }
}

/// What stands for the action of a step that has none.
pub(super) const NONE: &str = "step";

fn is_section(key: &str) -> bool {
    ["rescue", "always"].contains(&key)
}

/// A name: any text that is not empty.
fn name(item: &Item<'_>) -> Option<Arc<str>> {
    let text = item.text()?;
    if text.contains("${") {
        item.error("a name is fixed: there are no expressions in it", "");
        return None;
    }
    item.text_like("a name", |text| !text.trim().is_empty())
        .map(Arc::from)
}

/// One word or a list of them.
fn words(item: &Item<'_>) -> Vec<Arc<str>> {
    texts(item)
        .into_iter()
        .map(|(text, _)| text.into())
        .collect()
}

fn needs(item: &Item<'_>) -> Vec<(String, Position)> {
    let texts = texts(item).into_iter();
    texts.map(|(text, at)| (text.to_owned(), at)).collect()
}

fn texts<'a>(item: &Item<'a>) -> Vec<(&'a str, Position)> {
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
