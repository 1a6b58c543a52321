//! Parses `apply`: manifests, files and templates.

use std::sync::Arc;

use super::values::ValueParser;
use crate::model::diagnostics::{Diagnostics, Fields, Item};
use crate::model::yaml::{Content, Node};
use crate::pipeline::action::{Apply, Manifests, Options};
use crate::pipeline::keys;
use crate::pipeline::parsed::ResultUse;
use crate::pipeline::scope::RESULTS;
use crate::pipeline::tree::Tree;

impl ValueParser<'_, '_, '_> {
    pub(super) fn apply(&mut self, item: &Item<'_>) -> Option<Apply> {
        let is_manifest = match &item.node().content {
            Content::Map(entries) => entries.iter().any(|(key, _)| is_manifest_key(&key.name)),
            _ => true,
        };
        if is_manifest {
            return Some(Apply {
                manifests: Manifests::Inline(self.manifest(item)?),
                options: Options::default(),
            });
        }
        let fields = item.fields(keys::APPLY)?;
        let manifests = self.manifests(&fields);
        let flag = |key| fields.get(key).and_then(|item| item.flag());
        let options = Options {
            owner: flag("owner"),
            force: flag("force"),
            adopt: flag("adopt"),
            recreate: flag("recreate"),
        };
        Some(Apply {
            manifests: manifests?,
            options,
        })
    }

    fn manifests(&mut self, fields: &Fields<'_>) -> Option<Manifests> {
        let [manifest, file, template] =
            ["manifest", "file", "template"].map(|key| fields.get(key));
        if let (Some(item), None) = (fields.get("vars"), &template) {
            item.error("requires template", "write vars as a key of the step");
        }
        match (manifest, file, template) {
            (Some(item), None, None) => Some(Manifests::Inline(self.manifest(&item)?)),
            (None, Some(item), None) => self.file(&item),
            (None, None, Some(item)) => self.template(fields, &item),
            (None, None, None) => {
                let hint = "write the manifest itself, or file: FILE, or template: FILE";
                if !fields.has_unknown() {
                    fields.error(
                        "expected a manifest, a file or a template, found none",
                        hint,
                    );
                }
                None
            }
            _ => {
                let hint = "write two steps, or apply a list";
                fields.error("manifest, file and template exclude each other", hint);
                None
            }
        }
    }

    /// Parses an object, a list of objects, or a slot.
    fn manifest(&mut self, item: &Item<'_>) -> Option<Tree> {
        match &item.node().content {
            Content::List(_) => {
                for item in item.items().unwrap_or_default() {
                    check_complete(&item, &["apiVersion", "kind"]);
                }
            }
            Content::Map(_) => check_complete(item, &["apiVersion", "kind"]),
            Content::String(text) if text.contains("${") => {}
            Content::String(_) => {
                let hint = "write apply: {file: NAME} or apply: {template: NAME}";
                item.error("expected a manifest, found a text", hint);
                return None;
            }
            other => {
                item.error(&format!("expected a manifest, found {}", other.kind()), "");
                return None;
            }
        }
        Some(self.tree(item.node()))
    }

    /// Parses the name of a file, and its documents if the name is constant.
    fn file(&mut self, item: &Item<'_>) -> Option<Manifests> {
        let name = self.text(item)?;
        let Some(path) = name.constant() else {
            let location = self.location(item.position());
            return Some(Manifests::File(name, location));
        };
        if !self.parser.file_exists("files", path, item) {
            return None;
        }
        let path: Arc<str> = path.into();
        let whole = format!("files/{path}");
        let role_files = self.parser.role_files;
        let text = role_files.text(&whole, &mut self.parser.problems)?;
        let findings = Diagnostics::new(role_files.path.join(&whole));
        let documents = findings.parse_all(text);
        for document in &documents {
            check_complete(&Item::root(document, &findings), &["apiVersion", "kind"]);
        }
        self.parser.problems.extend(findings.into_vec());
        let documents = documents.iter().map(Node::to_value).collect();
        Some(Manifests::Documents(path, documents))
    }

    fn template(&mut self, fields: &Fields<'_>, item: &Item<'_>) -> Option<Manifests> {
        let name = self.text(item)?;
        if let Some(path) = name.constant() {
            let is_pattern = path.contains('*');
            if !is_pattern && self.parser.file_exists("templates", path, item) {
                self.note_results_of_template(path);
            }
        }
        let vars = fields.get("vars");
        let vars = vars.map(|item| self.variables(&item));
        Some(Manifests::Template {
            name,
            vars: vars.unwrap_or_default(),
            location: self.location(item.position()),
        })
    }

    fn note_results_of_template(&mut self, name: &str) {
        let Ok(template) = self.parser.templates.get_template(name) else {
            return;
        };
        for name in template.undeclared_variables(true) {
            let key = match name.split_once('.') {
                Some((RESULTS, rest)) => rest.split('.').next().map(str::to_owned),
                None if name == RESULTS => None,
                _ => continue,
            };
            let position = None;
            self.uses.push(ResultUse::Key { key, position });
        }
    }
}

/// Returns whether only a manifest has a key. A map with a misspelled key beside one is still a manifest.
fn is_manifest_key(key: &str) -> bool {
    ["apiVersion", "kind", "metadata", "spec", "data"].contains(&key)
}

/// Reports the keys that an object requires and does not have.
pub(super) fn check_complete(item: &Item<'_>, keys: &[&str]) {
    let Content::Map(entries) = &item.node().content else {
        if !matches!(&item.node().content, Content::String(text) if text.contains("${")) {
            let found = item.node().content.kind();
            item.error(&format!("expected an object, found {found}"), "");
        }
        return;
    };
    for required in keys {
        let found = entries.iter().find(|(key, _)| key.name == **required);
        match found {
            Some((_, value)) if value.content != Content::Null => {}
            _ => item.error(&format!("{required} is missing"), ""),
        }
    }
}
