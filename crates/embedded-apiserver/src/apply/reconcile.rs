//! Updates field sets after a type became atomic: the owner of a part becomes the owner of the whole value.
//!
//! Types that are no longer atomic need no update, as in `ReconcileFieldSetWithSchema` of
//! structured-merge-diff.

use super::{
    element::Element,
    set::{Node, PathSet},
};
use crate::schema::{
    Type,
    node::{Map, Relation},
};

/// Returns the set with the paths of the current type.
pub(super) fn reconcile(place: Type<'_>, set: PathSet) -> PathSet {
    let mut walk = Reconciler::default();
    walk.below(place, &set);
    if walk.became_atomic.is_empty() {
        return set;
    }
    set.without(&walk.became_atomic).union(&walk.became_atomic)
}

#[derive(Default)]
struct Reconciler {
    path: Vec<Element>,
    became_atomic: PathSet,
}

impl Reconciler {
    fn below(&mut self, place: Type<'_>, set: &PathSet) {
        for (element, node) in set.iter() {
            let child = match element {
                Element::Field(name) => place.child(name),
                _ => place.node().list.as_ref().map(|list| place.at(list.items)),
            };
            if let Some(child) = child {
                self.path.push(element.clone());
                self.node(child, node);
                self.path.pop();
            }
        }
    }

    fn node(&mut self, place: Type<'_>, node: &Node) {
        let parts = place.node();
        let is_leaf = node.member && node.below.is_empty();
        match (&parts.map, &parts.list) {
            (Some(map), _) if takes_anything(map) => {}
            (Some(map), _) if map.atomic => {
                if !is_leaf && !node.below.is_empty() {
                    self.became_atomic.insert(&self.path);
                }
            }
            (None, Some(list)) if parts.scalar.is_none() && list.relation == Relation::Atomic => {
                if !is_leaf {
                    self.became_atomic.insert(&self.path);
                }
            }
            _ => self.below(place, &node.below),
        }
    }
}

/// Returns whether a map has no fields of its own and accepts any value. Such a map is never treated as
/// atomic.
fn takes_anything(map: &Map) -> bool {
    map.fields.is_empty() && map.free && !map.atomic
}
