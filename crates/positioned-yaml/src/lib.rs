//! A wrapper of serde-saphyr that reads and writes YAML like Kubernetes tools.
//!
//! It parses scalars like kubectl (`yes` is a boolean, `0644` is 420), refuses duplicate keys, and quotes
//! strings that another parser would read as another type. The expansion of aliases and merge keys is limited
//! to a small multiple of the text before it takes place. [`Node`] is a document with the position of each
//! key and value, for files whose errors are reported together.

mod stack;

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_yaml::options::DuplicateKeyPolicy;
use serde_yaml::{Options, Spanned};

/// A position in a text. Columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Position {
    /// The line from 1, or 0 for the whole text.
    pub line: usize,
    /// The column from 1, or 0 for the whole line.
    pub column: usize,
}

impl From<serde_yaml::Location> for Position {
    fn from(location: serde_yaml::Location) -> Self {
        let narrow = |n: u64| usize::try_from(n).unwrap_or(0);
        Self {
            line: narrow(location.line()),
            column: narrow(location.column()),
        }
    }
}

/// The reason that a text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", position.line, position.column)]
pub struct Error {
    /// The position in the text.
    pub position: Position,
    /// The message in lower case, without a period and without the position.
    pub message: String,
}

impl From<serde_yaml::Error> for Error {
    fn from(error: serde_yaml::Error) -> Self {
        let text = error.without_snippet().to_string();
        let position = error.location().map(Position::from).unwrap_or_default();
        let suffix = format!(" at line {}, column {}", position.line, position.column);
        let text = text.strip_suffix(&suffix).unwrap_or(&text);
        // The library's advice is about its own options, which users cannot set.
        let text = text
            .split_once(", set DuplicateKeyPolicy")
            .map_or(text, |(head, _)| head);
        let message = if text.starts_with("alias replay limit exceeded") {
            "aliases and merge keys expand to too many values for a text of this length".to_owned()
        } else if text.starts_with("budget breached: ScalarBytes")
            || text.starts_with("budget breached: RecordedAnchor")
        {
            "aliases and merge keys expand to too much text for a text of this length".to_owned()
        } else if text.starts_with("budget breached: Depth")
            || text.starts_with("recursion limit exceeded")
        {
            format!("nested more than {MAX_DEPTH} levels deep")
        } else if text.starts_with("multiple YAML documents") {
            "expected one YAML document, found several".to_owned()
        } else {
            text.to_owned()
        };
        Self { position, message }
    }
}

/// The factor by which the library's default limits are raised: bundles of CRDs have millions of characters
/// and nodes.
const BUDGET_FACTOR: usize = 20;

/// The minimum and the maximum of the limit of expanded events per text. An event is a value, or the end of a
/// list or map, that an alias or merge key expands to. Between them, the limit is one event per 8 bytes of
/// the text. A value in a map takes about 100 bytes.
const EXPANDED_EVENTS: (usize, usize) = (20_000, 1_000_000);

/// The minimum and the maximum of the bytes of text that aliases and merge keys can add. Between them, the
/// limit is twice the length of the text.
const EXPANDED_BYTES: (usize, usize) = (1 << 20, 32 << 20);

/// The maximum nesting of lists and maps in an object or a text, both in JSON and in YAML. Code that copies,
/// compares, writes or drops such a value recurses, so the limit depends on the stack sizes of the threads.
pub const MAX_DEPTH: usize = 400;

/// Returns the options for other parsers of the same texts.
pub fn parser_options() -> serde_yaml::granit_parser::Options {
    serde_yaml::granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}

fn options(text: &str, duplicate_keys: DuplicateKeyPolicy) -> Options {
    let (fewest, most) = EXPANDED_EVENTS;
    let expanded_events = (text.len() / 8).clamp(fewest, most);
    let (least, most) = EXPANDED_BYTES;
    // An escape sequence is at most 1.5 times as long after it is written.
    let written = text.len().saturating_mul(2);
    let scalar_bytes = written.saturating_add(written.clamp(least, most));
    let usual = serde_yaml::Budget::default();
    serde_yaml::options! {
        legacy_octal_numbers: true,
        duplicate_keys: duplicate_keys,
        with_snippet: false,
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: expanded_events,
        },
        budget: serde_yaml::budget! {
            max_events: usual.max_events.saturating_mul(BUDGET_FACTOR),
            max_nodes: usual.max_nodes.saturating_mul(BUDGET_FACTOR),
            max_documents: usual.max_documents.saturating_mul(BUDGET_FACTOR),
            max_total_scalar_bytes: scalar_bytes,
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            // This ratio is a heuristic that refuses 101 uses of one anchor. The limits above are exact.
            enforce_alias_anchor_ratio: false,
            // The library keeps the copies of anchors until the end of the text.
            max_recorded_anchor_bytes: scalar_bytes,
        },
    }
}

/// Parses a text with one document. An empty text is null.
pub fn parse(text: &str) -> Result<Value, Error> {
    let options = options(text, DuplicateKeyPolicy::Error);
    let Plain(value) = stack::with_room(|| serde_yaml::from_str_with_options(text, options))?;
    Ok(value)
}

/// Parses all documents of a text except empty ones.
pub fn parse_all(text: &str) -> Result<Vec<Value>, Error> {
    let options = options(text, DuplicateKeyPolicy::Error);
    let documents: Vec<Plain> =
        stack::with_room(|| serde_yaml::from_multiple_with_options(text, options))?;
    Ok(documents.into_iter().map(|Plain(value)| value).collect())
}

/// Parses a text with one document and its positions. Keeps duplicate keys, so that the caller can report
/// them.
pub fn parse_positioned(text: &str) -> Result<Node, Error> {
    let options = options(text, DuplicateKeyPolicy::LastWins);
    stack::with_room(|| {
        let root: Spanned<Tree> = serde_yaml::from_str_with_options(text, options)?;
        Ok(Node::from(root))
    })
}

/// Parses all documents of a text with positions, except empty ones. Keeps duplicate keys, so that the caller
/// can report them.
pub fn parse_all_positioned(text: &str) -> Result<Vec<Node>, Error> {
    let options = options(text, DuplicateKeyPolicy::LastWins);
    stack::with_room(|| {
        let roots: Vec<Spanned<Tree>> = serde_yaml::from_multiple_with_options(text, options)?;
        Ok(roots.into_iter().map(Node::from).collect())
    })
}

/// Writes a value as one document.
pub fn write(value: &Value) -> String {
    // A JSON value cannot fail to serialize. The fallback is valid as well, because JSON is YAML.
    stack::with_room(|| serde_yaml::to_string(value).unwrap_or_else(|_| value.to_string()))
}

/// Writes a value as one document of at most `most` bytes. Indentation makes the text of a deeply nested
/// value hundreds of times as long as its JSON. Returns `None` if the text would be longer, or if the
/// work is interrupted.
pub fn write_within(value: &Value, most: usize) -> Option<String> {
    struct Bounded {
        text: String,
        most: usize,
    }
    impl fmt::Write for Bounded {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            checkpoint::tick().map_err(|_| fmt::Error)?;
            if part.len() > self.most - self.text.len() {
                return Err(fmt::Error);
            }
            self.text.push_str(part);
            Ok(())
        }
    }
    let mut out = Bounded {
        text: String::new(),
        most,
    };
    stack::with_room(|| serde_yaml::to_fmt_writer(&mut out, value)).ok()?;
    Some(out.text)
}

/// A value with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The position of the first character.
    pub position: Position,
    /// The content without its position.
    pub content: Content,
}

/// The content of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// `null`, `~` or no value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer or a float.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file, duplicates included.
    Map(Vec<(Key, Node)>),
    /// The value of a variable: its text if a string is expected, else the scalar that YAML parses from the
    /// text.
    Substituted {
        /// The variable's text.
        text: String,
        /// The value that YAML parses from the text.
        read: Box<Self>,
    },
    /// A value that is unknown because of an error that has already been reported.
    Unknown,
}

/// A key of a map with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The position of the first character.
    pub position: Position,
    /// The text of the key.
    pub name: String,
}

impl Node {
    /// Returns the value without positions. The last of several duplicate keys counts.
    pub fn to_value(&self) -> Value {
        self.content.to_value()
    }
}

impl Content {
    /// Returns the value without positions. The last of several duplicate keys counts, and unknown values are
    /// null.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null | Self::Unknown => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(Node::to_value).collect(),
            Self::Map(entries) => {
                let entries = entries.iter();
                let map: Map<_, _> = entries
                    .map(|(key, value)| (key.name.clone(), value.to_value()))
                    .collect();
                Value::Object(map)
            }
            Self::Substituted { read, .. } => read.to_value(),
        }
    }

    /// Returns the kind of the value with its article, for messages: `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null | Self::Unknown => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Number(number) if number.is_f64() => "a float",
            Self::Number(_) => "an integer",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Substituted { read, .. } => read.kind(),
        }
    }
}

/// Parses the text of a scalar like YAML: `5` is an integer, `a: b` a string.
pub fn read_scalar(text: &str) -> Content {
    match parse_positioned(text).map(|node| node.content) {
        Ok(Content::List(_) | Content::Map(_)) | Err(_) => Content::String(text.to_owned()),
        Ok(content) => content,
    }
}

/// A value whose deserialization calls [`checkpoint::tick`], so that it can be interrupted.
struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number that JSON cannot represent"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Plain(item)) = list.next_element()? {
            checkpoint::tick().map_err(de::Error::custom)?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Map::new();
        while let Some((key, Plain(value))) = map.next_entry::<String, _>()? {
            checkpoint::tick().map_err(de::Error::custom)?;
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}

/// The form in which the library deserializes [`Content`]: positions are outside of the values.
enum Tree {
    Leaf(Content),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl From<Spanned<Tree>> for Node {
    fn from(tree: Spanned<Tree>) -> Self {
        let content = match tree.value {
            Tree::Leaf(content) => content,
            Tree::List(items) => Content::List(items.into_iter().map(Self::from).collect()),
            Tree::Map(entries) => Content::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| (Key::from(key), Self::from(value)))
                    .collect(),
            ),
        };
        Self {
            position: tree.referenced.into(),
            content,
        }
    }
}

impl From<Spanned<String>> for Key {
    fn from(key: Spanned<String>) -> Self {
        Self {
            position: key.referenced.into(),
            name: key.value,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::Null))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::Bool(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::Number(number.into())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::Number(number.into())))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Tree, E> {
        Number::from_f64(number)
            .map(|number| Tree::Leaf(Content::Number(number)))
            .ok_or_else(|| E::custom("number that JSON cannot represent"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::String(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Tree::Leaf(Content::String(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            checkpoint::tick().map_err(de::Error::custom)?;
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            checkpoint::tick().map_err(de::Error::custom)?;
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[global_allocator]
    static ALLOCATOR: allocation_meter::Metered<std::alloc::System> =
        allocation_meter::Metered::new(std::alloc::System);

    #[test]
    fn scalars_are_read_as_kubectl_reads_them() {
        assert_eq!(
            parse("{a: yes, b: 0644, c: 1_000, d: '0644', e: ~, f: 1.5, g: v1}").unwrap(),
            json!({"a": true, "b": 420, "c": 1000, "d": "0644", "e": null, "f": 1.5, "g": "v1"})
        );
    }

    #[test]
    fn strings_survive_other_readers() {
        let text = write(&json!({"a": "yes", "b": "0644", "c": "1:30", "d": "x\ny\n"}));
        assert_eq!(
            text,
            "a: \"yes\"\nb: \"0644\"\nc: \"1:30\"\nd: |\n  x\n  y\n"
        );
    }

    #[test]
    fn documents_are_read_in_order() {
        let documents = parse_all("---\na: 1\n---\n# nothing\n---\nb: 2\n").unwrap();
        assert_eq!(documents, [json!({"a": 1}), json!({"b": 2})]);
    }

    #[test]
    fn documents_have_their_places_in_the_whole_text() {
        let documents = parse_all_positioned("a: 1\n---\n# nothing\n---\n\nb: {c: 2}\n").unwrap();
        assert_eq!(documents.len(), 2, "{documents:?}");
        let Content::Map(entries) = &documents[1].content else {
            panic!("{documents:?}")
        };
        assert_eq!(entries[0].0.position, Position { line: 6, column: 1 });
    }

    #[test]
    fn a_duplicate_key_is_an_error_with_its_place() {
        let error = parse("a: 1\nb: 2\na: 3\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3, column 1: duplicate mapping key: a"
        );
    }

    #[test]
    fn several_documents_where_one_is_meant_are_an_error() {
        let error = parse("a: 1\n---\nb: 2\n").unwrap_err();
        assert_eq!(error.message, "expected one YAML document, found several");
    }

    #[test]
    fn a_node_knows_the_place_of_each_key_and_value() {
        let root = parse_positioned("# head\n- kind: A\n  vars: {é: [1, x]}\n").unwrap();
        let Content::List(items) = &root.content else {
            panic!("{root:?}")
        };
        let Content::Map(entries) = &items[0].content else {
            panic!("{items:?}")
        };
        let at = |line, column| Position { line, column };
        assert_eq!(entries[0].0.position, at(2, 3));
        assert_eq!(entries[0].1.position, at(2, 9));
        let Content::Map(vars) = &entries[1].1.content else {
            panic!("{entries:?}")
        };
        let Content::List(list) = &vars[0].1.content else {
            panic!("{vars:?}")
        };
        assert_eq!(list[1].position, at(3, 17));
        assert_eq!(
            root.to_value(),
            json!([{"kind": "A", "vars": {"é": [1, "x"]}}])
        );
    }

    #[test]
    fn a_node_keeps_duplicate_keys() {
        let root = parse_positioned("a: 1\nb: 2\na: 3\n").unwrap();
        let Content::Map(entries) = &root.content else {
            panic!("{root:?}")
        };
        assert_eq!(entries.len(), 3);
        assert_eq!(root.to_value(), json!({"a": 3, "b": 2}));
    }

    #[test]
    fn a_merged_key_is_not_a_duplicate() {
        let root = parse_positioned("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\n").unwrap();
        assert_eq!(root.to_value()["b"], json!({"x": 3, "y": 2}));
        let Content::Map(entries) = &root.content else {
            panic!("{root:?}")
        };
        let Content::Map(merged) = &entries[1].1.content else {
            panic!("{entries:?}")
        };
        assert_eq!(merged.len(), 2, "{merged:?}");
    }

    /// Returns texts that become much larger when their aliases are expanded.
    fn bombs() -> Vec<String> {
        let level = |n: u32| {
            format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 10].join(", ")
            )
        };
        let laughs = "a0: &a0 [x]\n".to_owned() + &(1..9).map(level).collect::<String>();
        let list = vec!["v"; 1_000].join(", ");
        let many = format!("a: &a [{list}]\nb: [{}]\n", vec!["*a"; 5_000].join(", "));
        let merged = format!(
            "a: &a {{{}}}\nb: [{}]\n",
            (0..1_000)
                .map(|n| format!("k{n}: v"))
                .collect::<Vec<_>>()
                .join(", "),
            vec!["{<<: *a}"; 5_000].join(", ")
        );
        let filler = format!("# {}\n", "filler ".repeat(100_000));
        let text = format!(
            "a: &a {}\nb: [{}]\n",
            "x".repeat(500_000),
            vec!["*a"; 2_000].join(", ")
        );
        vec![
            filler.clone() + &laughs,
            filler.clone() + &many,
            filler + &merged,
            laughs,
            many,
            text,
        ]
    }

    #[test]
    fn alias_expansion_is_limited_by_the_size_of_the_text() {
        for bomb in bombs() {
            let readers: [&dyn Fn() -> Error; 4] = [
                &|| parse(&bomb).unwrap_err(),
                &|| parse_all(&bomb).unwrap_err(),
                &|| parse_positioned(&bomb).unwrap_err(),
                &|| parse_all_positioned(&bomb).unwrap_err(),
            ];
            for read in readers {
                let measurement = allocation_meter::Measurement::start();
                let error = read();
                let most = 24 * bomb.len() + (32 << 20);
                let peak = measurement.peak();
                assert!(peak < most, "{} bytes took {peak}: {error}", bomb.len());
            }
        }
    }

    #[test]
    fn aliases_as_people_use_them_are_expanded() {
        let uses: Vec<String> = (0..500)
            .map(|n| format!("s{n}: {{<<: *base, c: {n}}}\n"))
            .collect();
        let text = "base: &base {a: 1, b: [1, 2]}\n".to_owned() + &uses.concat();
        assert_eq!(
            parse(&text).unwrap()["s499"],
            json!({"a": 1, "b": [1, 2], "c": 499})
        );
    }

    #[test]
    fn reading_and_writing_are_interrupted() {
        let text = "- {a: 1, b: x}\n".repeat(1_000);
        let value = parse(&text).unwrap();
        let _interrupted = checkpoint::install(|| false);
        assert!(parse(&text).unwrap_err().message.contains("interrupted"));
        assert!(parse_all_positioned(&text).is_err());
        assert_eq!(write_within(&value, usize::MAX), None);
    }

    #[test]
    fn a_text_that_indentation_makes_longer_is_bounded() {
        let deep = (0..100).fold(json!("a\n".repeat(1_000)), |inner, _| json!({"a": inner}));
        assert!(write(&deep).len() > 100_000);
        assert_eq!(write_within(&deep, 100_000), None);
        assert_eq!(write_within(&json!({"a": 1}), 5), Some("a: 1\n".to_owned()));
        assert_eq!(write_within(&json!({"a": 1}), 4), None);
    }

    /// Returns texts of values with this many levels, in each style.
    fn nested(levels: usize) -> [String; 4] {
        let block = |item: &str| {
            let lines = (0..levels).map(|level| format!("{}{item}\n", " ".repeat(level)));
            lines.collect::<String>() + &" ".repeat(levels) + "1\n"
        };
        [
            "[".repeat(levels) + "1" + &"]".repeat(levels),
            "{a: ".repeat(levels) + "1" + &"}".repeat(levels),
            block("-"),
            block("a:"),
        ]
    }

    /// Runs a test on a thread with the stack of a tokio worker, and on one whose stack is just large enough.
    fn on_small_stacks(test: fn()) {
        for size in [2 << 20, stack::NEEDED + (1 << 20)] {
            let thread = std::thread::Builder::new().stack_size(size);
            thread.spawn(test).unwrap().join().unwrap();
        }
    }

    #[test]
    fn values_with_the_maximum_nesting_are_read_and_written_on_small_stacks() {
        on_small_stacks(|| {
            for text in nested(MAX_DEPTH) {
                let value = parse(&text).unwrap();
                assert_eq!(parse_all(&text).unwrap(), std::slice::from_ref(&value));
                let node = parse_positioned(&text).unwrap();
                assert_eq!(node.to_value(), value);
                assert_eq!(
                    parse_all_positioned(&text).unwrap(),
                    std::slice::from_ref(&node)
                );
                assert_eq!(parse(&write(&value)).unwrap(), value);
                let written = write_within(&value, usize::MAX).unwrap();
                assert_eq!(parse(&written).unwrap(), value);
            }
        });
    }

    #[test]
    fn a_text_with_more_levels_is_an_error_that_names_the_limit() {
        on_small_stacks(|| {
            for levels in [MAX_DEPTH + 1, MAX_DEPTH + 2, 2_000] {
                for text in nested(levels) {
                    for error in [parse(&text).err(), parse_positioned(&text).err()] {
                        let message = error.unwrap().message;
                        assert_eq!(message, "nested more than 400 levels deep", "{levels}");
                    }
                }
            }
        });
    }

    #[test]
    fn a_number_that_json_cannot_represent_is_an_error() {
        for text in [".inf", "a: [.nan]", "-.inf"] {
            for error in [parse(text).err(), parse_positioned(text).err()] {
                let message = error.unwrap().message;
                assert!(message.contains("non-finite"), "{message}");
            }
        }
    }

    #[test]
    fn a_bundle_of_custom_resource_definitions_fits_the_budget() {
        let text = "a: [1, 2, 3, 4, 5, 6, 7, 8]\n---\n".repeat(5_000);
        assert_eq!(parse_all(&text).unwrap().len(), 5_000);
    }
}
