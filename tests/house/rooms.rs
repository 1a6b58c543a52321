//! Checks the imports between the files of each folder against the list in `rooms.toml`.
//!
//! A room is a folder with modules. Its members are its files and folders: a folder imports all that the files
//! below it import. `rooms.toml` lists the imports of each member from the other members. A member with a slash,
//! such as `pipeline/execute`, has a place of its own in the room.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::circles::circles;
use crate::imports::Modules;
use crate::source::{self, Source};

/// The member that stands for the file that declares the room's modules: `mod.rs` or `lib.rs`.
const HEAD: &str = "mod";

/// For each member, the members that it imports.
type Edges = BTreeMap<String, BTreeSet<String>>;
type Rooms = BTreeMap<String, Edges>;

/// The maximum length of a line in `rooms.toml`.
const LINE: usize = 120;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/house/rooms.toml")
}

fn listed() -> Rooms {
    let text = fs::read_to_string(path()).expect("a readable rooms.toml");
    toml::from_str(&text).expect("rooms.toml: a table of lists for each room")
}

/// Replaces the tables of `rooms.toml`, and keeps the comment above them.
fn write(rooms: &Rooms) {
    let old = fs::read_to_string(path()).expect("a readable rooms.toml");
    let comment: Vec<&str> = old
        .lines()
        .take_while(|line| line.starts_with('#'))
        .collect();
    let tables = rooms.iter().map(|(room, edges)| table(room, edges));
    let text = comment.join("\n") + "\n" + &tables.collect::<String>();
    fs::write(path(), text).expect("a writable rooms.toml");
}

fn table(room: &str, edges: &Edges) -> String {
    let mut lines = vec![String::new(), format!("[\"{room}\"]")];
    for (from, targets) in edges {
        let quote = if from.contains('/') { "\"" } else { "" };
        let mut line = format!("{quote}{from}{quote} = [");
        let last = targets.len().saturating_sub(1);
        for (index, to) in targets.iter().enumerate() {
            let separator = if index == last { "" } else { "," };
            let space = if line.ends_with('[') { "" } else { " " };
            let item = format!("{space}\"{to}\"{separator}");
            if line.len() + item.len() > LINE - 2 {
                lines.push(line);
                line = format!("   {item}");
            } else {
                line += &item;
            }
        }
        lines.push(line + "]");
    }
    lines.join("\n") + "\n"
}

/// Returns the members of a room that are not direct children of its folder.
fn nested_members(listed: &Rooms, room: &str) -> BTreeSet<String> {
    let members = listed.get(room).into_iter().flat_map(|edges| edges.keys());
    members.filter(|name| name.contains('/')).cloned().collect()
}

/// Returns the imports between the members of each room of a crate, except those of heads: a head imports what
/// its room offers.
fn actual(root: &str, sources: &[Source], listed: &Rooms) -> Rooms {
    let mut rooms = Rooms::new();
    let modules = Modules::new(sources);
    for (from, targets) in modules.edges() {
        for to in targets {
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            for depth in 0..=shared {
                let room = [&[root.to_owned()], &from[..depth]].concat().join("/");
                let nested = nested_members(listed, &room);
                let from = member(&nested, &from[depth..]);
                let to = member(&nested, &to[depth..]);
                if from != to && from != HEAD && (depth == shared || !nested.is_empty()) {
                    let edges = rooms.entry(room).or_default();
                    edges.entry(from).or_default().insert(to);
                }
            }
        }
    }
    rooms
}

/// Returns the member of a room that a path below it belongs to.
fn member(nested: &BTreeSet<String>, path: &[String]) -> String {
    let joined = format!("{}/", path.join("/"));
    let nested = nested
        .iter()
        .find(|name| joined.starts_with(&format!("{name}/")));
    let direct = || path.first().map_or(HEAD, |name| name);
    nested.map_or_else(|| direct().to_owned(), Clone::clone)
}

fn differences(listed: &Rooms, actual: &Rooms) -> Vec<String> {
    let mut found = Vec::new();
    for (room, from, to) in edges(actual) {
        if !is_in(listed, room, from, to) {
            found.push(format!(
                "{room}: `{from}` imports `{to}`, which rooms.toml does not allow"
            ));
        }
    }
    for (room, from, to) in edges(listed) {
        if !is_in(actual, room, from, to) {
            found.push(format!(
                "{room}: rooms.toml allows `{from}` to import `{to}`, which it does not"
            ));
        }
    }
    found
}

fn edges(rooms: &Rooms) -> impl Iterator<Item = (&str, &str, &str)> {
    rooms.iter().flat_map(|(room, edges)| {
        edges.iter().flat_map(move |(from, targets)| {
            targets
                .iter()
                .map(move |to| (room.as_str(), from.as_str(), to.as_str()))
        })
    })
}

fn is_in(rooms: &Rooms, room: &str, from: &str, to: &str) -> bool {
    let targets = rooms.get(room).and_then(|edges| edges.get(from));
    targets.is_some_and(|targets| targets.contains(to))
}

fn rooms_with_circles(rooms: &Rooms) -> Vec<String> {
    let mut found = Vec::new();
    for (room, edges) in rooms {
        for circle in circles(&edges.iter().map(|(from, to)| (from, to.clone())).collect()) {
            let members = circle.into_iter().collect::<Vec<_>>().join(", ");
            found.push(format!("{room}: {members} import each other"));
        }
    }
    found
}

#[test]
fn the_members_of_a_room_import_only_what_is_listed() {
    let listed = listed();
    let mut actual_rooms = Rooms::new();
    for (root, sources) in source::of_crates() {
        actual_rooms.extend(actual(&root, &sources, &listed));
    }
    assert_eq!(rooms_with_circles(&actual_rooms), [""; 0]);
    if std::env::var_os("UPDATE").is_some() {
        write(&actual_rooms);
    }
    let found = differences(&self::listed(), &actual_rooms);
    assert!(
        found.is_empty(),
        "{}\nmove the code, or allow the imports: UPDATE=1 cargo test --test house rooms",
        found.join("\n")
    );
}

#[test]
fn an_import_that_is_not_listed_a_line_without_import_and_a_circle_are_found() {
    let sources = [
        Source::new("lib.rs", "mod a;\nuse a::A;\n"),
        Source::new("a/mod.rs", "mod one;\nmod two;\nuse one::One;\n"),
        Source::new("a/one.rs", "use super::two::Two;\nuse crate::b::B;\n"),
        Source::new("a/two.rs", "use crate::c::C;\n"),
        Source::new("b.rs", "use crate::a::two::Two;\n"),
        Source::new("c.rs", "use crate::d::D;\n"),
        Source::new("d.rs", ""),
    ];
    let list = "['x']\na = ['b', 'd']\nb = ['a']\nc = ['d']\n['x/a']\none = ['two']\n";
    let listed: Rooms = toml::from_str(list).expect("a list");
    let rooms = actual("x", &sources, &listed);
    assert_eq!(
        differences(&listed, &rooms),
        [
            "x: `a` imports `c`, which rooms.toml does not allow",
            "x: rooms.toml allows `a` to import `d`, which it does not",
        ]
    );
    assert_eq!(rooms_with_circles(&rooms), ["x: a, b import each other"]);
}

#[test]
fn a_nested_member_has_a_place_of_its_own() {
    let sources = [
        Source::new("a/mod.rs", ""),
        Source::new("a/execute.rs", "use super::step::Step;\nuse crate::b::B;\n"),
        Source::new("a/step.rs", ""),
        Source::new("b.rs", "use crate::a::step::Step;\n"),
    ];
    let list = "['x']\n'a/execute' = ['a', 'b']\nb = ['a']\n['x/a']\nexecute = ['step']\n";
    let listed: Rooms = toml::from_str(list).expect("a list");
    let rooms = actual("x", &sources, &listed);
    assert_eq!(differences(&listed, &rooms), [""; 0]);
    assert_eq!(rooms_with_circles(&rooms), [""; 0]);
}
