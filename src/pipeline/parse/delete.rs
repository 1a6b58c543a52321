//! Parses `delete`: references to objects.

use super::apply::check_complete;
use super::values::ValueParser;
use crate::model::diagnostics::Item;
use crate::model::yaml::Content;
use crate::pipeline::action::Delete;
use crate::pipeline::keys;
use crate::pipeline::tree::Tree;

const PROPAGATION: [(&str, &str); 3] = [
    ("background", "background"),
    ("foreground", "foreground"),
    ("orphan", "orphan"),
];

impl ValueParser<'_, '_, '_> {
    pub(super) fn delete(&mut self, item: &Item<'_>) -> Delete {
        let mut propagation = None;
        let objects = match item.node().content {
            Content::List(_) => {
                let items = item.items().unwrap_or_default();
                let objects = items
                    .iter()
                    .filter_map(|item| self.reference(item, &mut propagation));
                Tree::list(objects.collect())
            }
            // The value of a slot may be a list, so it is not put into one.
            Content::String(_) => self.tree(item.node()),
            _ => Tree::list(self.reference(item, &mut propagation).into_iter().collect()),
        };
        Delete {
            objects,
            propagation,
        }
    }

    /// Parses one object to delete, and the propagation that it is written with.
    fn reference(
        &mut self,
        item: &Item<'_>,
        propagation: &mut Option<&'static str>,
    ) -> Option<Tree> {
        if let Content::String(_) = item.node().content {
            return Some(self.tree(item.node()));
        }
        let fields = item.fields(keys::DELETE)?;
        let has_metadata = fields.get("metadata").is_some();
        let required = ["apiVersion", "kind", "name"];
        check_complete(item, &required[..if has_metadata { 2 } else { 3 }]);
        for key in ["apiVersion", "kind", "name", "namespace"] {
            fields.get(key).map(|item| item.text());
        }
        let chosen = fields.get("propagation");
        let chosen = chosen.and_then(|item| Some((item.choice(&PROPAGATION)?, item)));
        if let Some((chosen, item)) = chosen {
            if propagation.is_some_and(|before| before != chosen) {
                item.error("a step has only one propagation", "write two steps");
            }
            *propagation = Some(chosen);
        }
        let mut node = item.node().clone();
        if let Content::Map(entries) = &mut node.content {
            entries.retain(|(key, _)| key.name != "propagation");
        }
        Some(self.tree(&node))
    }
}
