//! A set of field paths as a tree.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::element::Element;
use crate::schema::Type;

/// A set of paths, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathSet {
    nodes: Vec<(Element, Node)>,
}

/// A node of a field set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    /// True if the path of the node is itself in the set.
    pub member: bool,
    /// The paths below the node.
    pub below: PathSet,
}

impl Node {
    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl PathSet {
    /// Returns a set of field paths.
    pub(super) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.iter().all(|(_, node)| node.is_empty())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Element, Node)> {
        self.nodes.iter()
    }

    pub(super) fn get(&self, element: &Element) -> Option<&Node> {
        self.position(element)
            .ok()
            .map(|place| &self.nodes[place].1)
    }

    /// Returns the node of an element, and creates it if it is missing.
    pub(super) fn entry(&mut self, element: Element) -> &mut Node {
        let place = match self.position(&element) {
            Ok(place) => place,
            Err(place) => {
                self.nodes.insert(place, (element, Node::default()));
                place
            }
        };
        &mut self.nodes[place].1
    }

    /// Adds a path. Ignores the empty path.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let node = self.entry(first.clone());
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    pub(super) fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.get(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    fn position(&self, element: &Element) -> Result<usize, usize> {
        // The last node is checked first, because most sets are built in order.
        match self.nodes.last().map(|(last, _)| last.cmp(element)) {
            None => Err(0),
            Some(Ordering::Less) => Err(self.nodes.len()),
            Some(_) => self.nodes.binary_search_by(|(known, _)| known.cmp(element)),
        }
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        self.zip(other, |one, other| match (one, other) {
            (Some(one), Some(other)) => Node {
                member: one.member || other.member,
                below: one.below.union(&other.below),
            },
            (one, other) => one.or(other).cloned().unwrap_or_default(),
        })
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |one, other| match (one, other) {
            (Some(one), Some(other)) => Node {
                member: one.member && other.member,
                below: one.below.intersection(&other.below),
            },
            _ => Node::default(),
        })
    }

    /// Returns the paths that the other set does not contain. Paths below those of the other set remain.
    pub(super) fn difference(mut self, other: &Self) -> Self {
        self.cut(other, false);
        self
    }

    /// Returns the paths that are neither in the other set nor below one of its paths.
    pub(super) fn without(mut self, other: &Self) -> Self {
        self.cut(other, true);
        self
    }

    /// Removes the paths of the other set and, if `all` is set, the paths below them.
    fn cut(&mut self, other: &Self, all: bool) {
        for (element, gone) in &other.nodes {
            let Ok(place) = self.position(element) else {
                continue;
            };
            let node = &mut self.nodes[place].1;
            node.member &= !gone.member;
            if all && gone.member {
                node.below = Self::default();
            } else {
                node.below.cut(&gone.below, all);
            }
            if node.is_empty() {
                self.nodes.remove(place);
            }
        }
    }

    fn zip(&self, other: &Self, join: impl Fn(Option<&Node>, Option<&Node>) -> Node) -> Self {
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        let mut nodes = Vec::with_capacity(self.nodes.len());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((one, _)), Some((other, _))) => one.cmp(other),
            };
            let one = if order == Ordering::Greater {
                None
            } else {
                left.next()
            };
            let other = if order == Ordering::Less {
                None
            } else {
                right.next()
            };
            let node = join(one.map(|(_, node)| node), other.map(|(_, node)| node));
            if let (false, Some((element, _))) = (node.is_empty(), one.or(other)) {
                nodes.push((element.clone(), node));
            }
        }
    }

    /// Adds each field that has a name in the schema and paths below it.
    pub(super) fn with_named_fields(&self, place: Option<Type<'_>>) -> Self {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let (child, named) = step(place, element);
            let below = node.below.with_named_fields(child);
            let member = node.member || named && !node.below.nodes.is_empty();
            (element.clone(), Node { member, below })
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Returns all paths, each before the paths below it.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for (element, node) in &self.nodes {
            if node.member {
                paths.push([prefix.as_slice(), std::slice::from_ref(element)].concat());
            }
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// Parses `fieldsV1`.
    pub(super) fn parse(fields: &Value) -> Result<Self, String> {
        let mut set = Self::default();
        for (step, below) in fields.as_object().into_iter().flatten() {
            if step == "." {
                continue;
            }
            if let Some(element) = Element::parse(step)? {
                let below_set = Self::parse(below)?;
                let member = below_set.nodes.is_empty() || below.get(".").is_some();
                *set.entry(element) = Node {
                    member,
                    below: below_set,
                };
            }
        }
        Ok(set)
    }

    /// Returns the set as `fieldsV1`.
    pub(super) fn wire(&self) -> Value {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let mut below = node.below.wire();
            if node.member && !node.below.nodes.is_empty() {
                below["."] = json!({});
            }
            (element.wire(), below)
        });
        Value::Object(nodes.collect::<Map<_, _>>())
    }
}

/// Returns the type below an element, and whether the element is a field that has a name in the schema.
fn step<'a>(place: Option<Type<'a>>, element: &Element) -> (Option<Type<'a>>, bool) {
    let Some(place) = place else {
        return (None, false);
    };
    let node = place.node();
    match element {
        Element::Field(name) => {
            let named = node
                .map
                .as_ref()
                .is_some_and(|map| map.field(name).is_some());
            (place.child(name), named)
        }
        Element::Key(_) => (node.list.as_ref().map(|list| place.at(list.items)), false),
        _ => (None, false),
    }
}
