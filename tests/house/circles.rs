//! The files of a crate do not import each other in circles.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Modules;
use crate::source::{self, Source};

/// Circles that stay, because their data or their grammar is recursive, each with the reason. All files of
/// such a circle are below the path.
const RECURSIVE: [(&str, &str); 0] = [];

/// For each node, the nodes that it imports.
type Edges<'a, Node> = BTreeMap<&'a Node, BTreeSet<Node>>;

/// Returns the sets of nodes that import each other, directly or not.
pub(crate) fn circles<Node: Ord + Clone>(edges: &Edges<'_, Node>) -> Vec<BTreeSet<Node>> {
    let reachable: BTreeMap<&Node, BTreeSet<Node>> = edges
        .keys()
        .map(|module| (*module, reach(edges, module)))
        .collect();
    let mut found = BTreeSet::new();
    for (module, targets) in &reachable {
        let is_mutual = |other: &&Node| {
            reachable
                .get(other)
                .is_some_and(|back| back.contains(*module))
        };
        let circle: BTreeSet<Node> = targets.iter().filter(is_mutual).cloned().collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

fn reach<Node: Ord + Clone>(edges: &Edges<'_, Node>, from: &Node) -> BTreeSet<Node> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(node) = open.pop() {
        for target in edges.get(&node).into_iter().flatten() {
            if reached.insert(target.clone()) {
                open.push(target.clone());
            }
        }
    }
    reached
}

/// Returns the circles of a crate that are not excused, as text.
fn violations(name: &str, sources: &[Source], excused: &[&str]) -> Vec<String> {
    let modules = Modules::new(sources);
    let edges = modules.edges();
    let circles = circles(&edges).into_iter().map(|circle| {
        let paths = circle
            .iter()
            .map(|module| format!("{name}/{}", module.join("/")));
        paths.collect::<Vec<_>>()
    });
    let is_excused = |circle: &Vec<String>| {
        excused
            .iter()
            .any(|prefix| circle.iter().all(|path| path.starts_with(prefix)))
    };
    let circles = circles.filter(|circle| !is_excused(circle));
    circles.map(|circle| circle.join(", ")).collect()
}

#[test]
fn no_files_import_each_other_in_circles() {
    let excused: Vec<&str> = RECURSIVE.iter().map(|(path, _)| *path).collect();
    let mut found = Vec::new();
    for (name, sources) in source::of_crates() {
        found.extend(violations(&name, &sources, &excused));
    }
    assert!(
        found.is_empty(),
        "{} circles:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_circle_is_found() {
    let sources = [
        Source::new("lib.rs", "mod a;\n"),
        Source::new("a/mod.rs", "mod b;\nuse b::B;\n"),
        Source::new("a/b.rs", "use crate::c::C;\n"),
        Source::new("c.rs", "use crate::a::A;\n"),
        Source::new("d.rs", "use crate::c::C;\n"),
    ];
    assert_eq!(violations("x", &sources, &[]), ["x/a, x/a/b, x/c"]);
    assert_eq!(violations("x", &sources, &["x/a"]), ["x/a, x/a/b, x/c"]);
    assert_eq!(violations("x", &sources, &["x/"]), [""; 0]);
}
