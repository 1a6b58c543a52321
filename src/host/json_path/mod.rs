//! Evaluates JSONPath queries with a budget.
//!
//! The library cannot interrupt a query, and the cost of a query can grow exponentially: each `..` visits
//! a value once per ancestor, a filter is evaluated for every value, and the library stores the path of
//! each result. This module therefore counts each access of the library to a value. The unit is a value
//! with 256 bytes of text. A query that exceeds its budget is ended by unwinding out of the library.

mod patterns;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::convert::Infallible;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::query::js_path_process;
use jsonpath_rust::query::queryable::Queryable;
use serde_json::Value;

use super::compile_cache::CompileCache;
use super::regular_expression::Pattern;
use crate::model::json_path::Error;

/// Units that every query has.
const AT_LEAST: usize = 100_000;
/// Units per unit of the queried value. `$..[?@.port == 80]` needs a dozen.
const FOR_EACH: usize = 32;
/// Bytes of text in a unit.
const UNIT: usize = 256;
/// Units of a match with a compiled pattern.
const MATCH: usize = 20;
/// The work of a search in a unit: a query searches for some seconds at worst.
const WORK_PER_UNIT: u64 = 2_000;
/// Units of the compilation of a pattern.
const PATTERN: usize = 10_000;

thread_local! {
    /// The remaining budget of the query on this thread.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// A parsed query.
pub(super) struct Query(JpQuery);

/// The error of a query that exceeded its budget.
#[derive(Debug)]
pub(super) struct Exhausted;

impl Query {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        patterns::parse(text).map(Self)
    }

    /// Returns the values that match, in document order.
    pub(super) fn select<'v>(&self, value: &'v Value) -> Result<Vec<&'v Value>, Exhausted> {
        let all = weight(value).saturating_mul(FOR_EACH);
        LEFT.set(all.saturating_add(AT_LEAST));
        let selected = panic::catch_unwind(AssertUnwindSafe(|| {
            let root = Node::at(value, 0);
            // It fails only if a query does not end with a value, which the grammar excludes.
            let found = js_path_process(&self.0, &root).unwrap_or_default();
            let found = found.into_iter();
            found.filter_map(|one| one.val.borrowed()).collect()
        }));
        selected.map_err(|payload| match payload.downcast::<Exhausted>() {
            Ok(exhausted) => *exhausted,
            Err(other) => panic::resume_unwind(other),
        })
    }
}

/// Subtracts units from the budget. Unwinds out of the query if none are left.
fn spend(units: usize) {
    if checkpoint::tick().is_err() {
        // The result of the query does not matter, because the run ends.
        panic::resume_unwind(Box::new(Exhausted));
    }
    match LEFT.get().checked_sub(units) {
        Some(left) => LEFT.set(left),
        None => panic::resume_unwind(Box::new(Exhausted)),
    }
}

/// Returns the units of a value, including all values in it.
fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => {
            let members = members.iter();
            1 + members
                .map(|(key, value)| units(key) + weight(value))
                .sum::<usize>()
        }
        Value::String(text) => units(text),
        _ => 1,
    }
}

fn units(text: &str) -> usize {
    1 + text.len() / UNIT
}

/// A value in the type that the library expects, or a literal of the query.
#[derive(Clone, Debug)]
struct Node<'v> {
    value: Cow<'v, Value>,
    /// The length in bytes of the path that the library stores for the value.
    path: usize,
    children: OnceCell<Children<'v>>,
}

#[derive(Clone, Debug, Default)]
struct Children<'v> {
    /// The keys in the order of the object's members, which are sorted; empty for an array.
    keys: Vec<&'v str>,
    nodes: Vec<Node<'v>>,
}

impl<'v> Node<'v> {
    fn at(value: &'v Value, path: usize) -> Self {
        Self::new(Cow::Borrowed(value), path)
    }

    /// Creates a node for a literal. The library creates one for each value that it compares.
    fn literal(value: impl Into<Value>) -> Self {
        let value = value.into();
        spend(weight(&value));
        Self::new(Cow::Owned(value), 0)
    }

    fn new(value: Cow<'v, Value>, path: usize) -> Self {
        Self {
            value,
            path,
            children: OnceCell::new(),
        }
    }

    fn borrowed(&self) -> Option<&'v Value> {
        match &self.value {
            Cow::Borrowed(value) => Some(value),
            Cow::Owned(_) => None,
        }
    }

    fn children(&self) -> &Children<'v> {
        /// Brackets, quotes and digits around a key or an index.
        const PATH_SYNTAX: usize = 24;
        self.children.get_or_init(|| {
            let at = |value, key: &str| Node::at(value, self.path + key.len() + PATH_SYNTAX);
            match self.borrowed() {
                Some(Value::Array(items)) => Children {
                    keys: Vec::new(),
                    nodes: items.iter().map(|item| at(item, "")).collect(),
                },
                Some(Value::Object(members)) => Children {
                    keys: members.keys().map(String::as_str).collect(),
                    nodes: members.iter().map(|(key, value)| at(value, key)).collect(),
                },
                _ => Children::default(),
            }
        })
    }

    /// Charges the budget for one access, including the copy of the path that the library makes.
    fn count_access(&self) {
        spend(1 + self.path / UNIT);
    }

    /// Returns all children, and charges the budget for the copies of their paths.
    fn spread(&self) -> &Children<'v> {
        let children = self.children();
        let keys = children.keys.iter();
        let each = children.nodes.len().saturating_mul(1 + self.path / UNIT);
        spend(each.saturating_add(keys.map(|key| key.len() / UNIT).sum()));
        children
    }
}

impl Queryable for Node<'_> {
    fn get(&self, key: &str) -> Option<&Self> {
        self.count_access();
        if !self.value.is_object() {
            return None;
        }
        spend(key.len() / UNIT);
        let Children { keys, nodes } = self.children();
        nodes.get(keys.binary_search(&key).ok()?)
    }

    fn as_array(&self) -> Option<&Vec<Self>> {
        self.count_access();
        self.value.is_array().then(|| &self.spread().nodes)
    }

    fn as_object(&self) -> Option<Vec<(&str, &Self)>> {
        self.count_access();
        self.value.is_object().then(|| {
            let Children { keys, nodes } = self.spread();
            keys.iter().copied().zip(nodes).collect()
        })
    }

    fn as_str(&self) -> Option<&str> {
        self.count_access();
        let text = self.value.as_str()?;
        spend(text.len() / UNIT);
        Some(text)
    }

    fn as_i64(&self) -> Option<i64> {
        self.value.as_i64()
    }

    fn as_f64(&self) -> Option<f64> {
        self.value.as_f64()
    }

    fn as_bool(&self) -> Option<bool> {
        self.value.as_bool()
    }

    fn null() -> Self {
        Self::literal(Value::Null)
    }

    fn extension_custom(name: &str, arguments: Vec<Cow<'_, Self>>) -> Self {
        match (name, &*arguments) {
            ("match" | "search", [text, pattern]) => {
                matches(text, pattern, name == "match").map_or_else(Self::null, Self::literal)
            }
            _ => Self::literal(others(name, &arguments)),
        }
    }
}

/// Returns true if the pattern matches the text: all of it if `whole` is set, else a part. Returns `None`
/// if one of the values is not a string or the pattern is invalid.
fn matches(text: &Node<'_>, pattern: &Node<'_>, whole: bool) -> Option<bool> {
    thread_local! {
        /// Compiled patterns. `None` for an invalid one, because finding that out costs as much.
        static PATTERNS: CompileCache<Option<Rc<Pattern>>> = CompileCache::new();
    }
    spend(MATCH);
    let pattern = of_i_regexp(pattern.as_str()?, whole);
    let Ok(made) = PATTERNS.with(|known| {
        known.get(&pattern, |text| {
            spend(PATTERN);
            // RFC 9535, section 2.4.6: an invalid pattern matches nothing.
            Ok::<_, Infallible>(Pattern::new(text).ok())
        })
    });
    let (pattern, text) = (made.as_ref().as_ref()?, text.as_str()?);
    if checkpoint::pass().is_err() {
        panic::resume_unwind(Box::new(Exhausted));
    }
    spend(usize::try_from(pattern.work(text) / WORK_PER_UNIT).unwrap_or(usize::MAX));
    match pattern.search(text) {
        Ok(regex) => Some(regex.is_match(text)),
        Err(_) => panic::resume_unwind(Box::new(Exhausted)),
    }
}

/// The operators that the library adds to the RFC: `in`, `nin`, `any_of`, `none_of`, `subset_of`.
fn others(name: &str, arguments: &[Cow<'_, Node<'_>>]) -> Value {
    let weights = arguments.iter().map(|one| weight(&one.value));
    let pairs = weights.fold(1, usize::saturating_mul);
    spend(pairs);
    let arguments = arguments.iter().map(|one| Cow::Borrowed(&*one.value));
    Value::extension_custom(name, arguments.collect())
}

/// The pattern of an I-Regexp (RFC 9485, section 5.3), whose `.` is neither `\n` nor `\r`.
fn of_i_regexp(pattern: &str, whole: bool) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                translated.push(character);
                translated.extend(characters.next());
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '.' if !in_class => {
                translated.push_str(r"[^\n\r]");
                continue;
            }
            _ => {}
        }
        translated.push(character);
    }
    if whole {
        format!("^(?:{translated})$")
    } else {
        translated
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        spend(weight(&self.value));
        self.value == other.value
    }
}

impl Default for Node<'_> {
    fn default() -> Self {
        Self::null()
    }
}

impl From<&str> for Node<'_> {
    fn from(text: &str) -> Self {
        Self::literal(text)
    }
}

impl From<String> for Node<'_> {
    fn from(text: String) -> Self {
        Self::literal(text)
    }
}

impl From<bool> for Node<'_> {
    fn from(value: bool) -> Self {
        Self::literal(value)
    }
}

impl From<i64> for Node<'_> {
    fn from(value: i64) -> Self {
        Self::literal(value)
    }
}

impl From<f64> for Node<'_> {
    fn from(value: f64) -> Self {
        Self::literal(value)
    }
}

impl From<Vec<Self>> for Node<'_> {
    fn from(items: Vec<Self>) -> Self {
        let items = items.into_iter().map(|item| item.value.into_owned());
        Self::literal(items.collect::<Value>())
    }
}

#[cfg(test)]
mod tests {
    use jsonpath_rust::JsonPath;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_is_interrupted() {
        let value = json!(vec![1; 1_000]);
        let query = Query::parse("$..[?@ > 0]").unwrap();
        assert_eq!(query.select(&value).unwrap().len(), 1_000);
        let _interrupted = checkpoint::install(|| false);
        assert!(query.select(&value).is_err());
    }

    /// `None` if it exceeds the budget.
    fn found<'v>(query: &str, value: &'v Value) -> Option<Vec<&'v Value>> {
        Query::parse(query).unwrap().select(value).ok()
    }

    #[test]
    fn it_finds_what_the_library_finds_in_a_plain_value() {
        let value = json!({
            "items": [
                {"name": "a", "size": 1, "tags": ["x", "y"], "big": {"n": 1.5}},
                {"name": "b\r", "size": 2.0, "tags": [], "big": null},
                {"name": "ab", "size": -3, "of": {"name": "a"}, "ok": true},
                "a", 1, null, [[1], [1, 2]],
            ],
            "first": "a", "pattern": "a.?", "names": ["ab", "q", 1], "tags": ["x", "y", "z"], "same": {"name": "a"}, "": {"": 0}, "it's": {"d\"q": 1},
        });
        for query in [
            "$",
            "$.*",
            "$..*",
            "$..name",
            "$.items[0,-1].*",
            "$.items[1:3].name",
            "$.items[::-2]",
            "$..[?@.name == $.first]",
            "$..[?@.name != 'a']",
            "$.items[?@.size >= 2 || @.ok].name",
            "$.items[?@ == 1]",
            "$.items[?@.of == $.same]",
            "$..[?match(@.name, 'a.')].name",
            "$..[?search(@.name, $.pattern)].name",
            "$..[?!match(@, '[.]')]",
            "$['']['']",
            "$..[?match(@.name, 'b.')]",
            "$.items[?length(@.tags) > 0].name",
            "$['it\\'s']['d\"q']",
            "$.items[?count(@.*) == 4]",
            "$.items[?value(@..n) == 1.5].name",
            "$..[?@.no]",
            "$.items[?search(@.name, @.size)]",
            "$.items[?match(@.name, '(')]",
            "$.items[6][*][0]",
            "$.items[?in(@.name, $.names)]",
            "$.items[?nin(@, $.names)]",
            "$..[?any_of(@, $.names)]",
            "$.items[?subset_of(@.tags, $.tags)]",
            "$.items[?none_of(@.tags, $.tags)].name",
            "$.items[?@.big == null].name",
            "$.items[?@ < 'b']",
            "$..['name', 'size', 'no']",
        ] {
            let of_library = value.query(query).unwrap();
            assert_eq!(found(query, &value).unwrap(), of_library, "{query}");
        }
    }

    #[test]
    fn a_large_value_is_looked_through_several_times() {
        let pod = |n: i32| {
            json!({"metadata": {"name": format!("pod-{n}"), "labels": {"app": "web"}},
                   "spec": {"containers": [{"image": "nginx", "ports": [{"port": 80}]}]}})
        };
        let pods: Value = (0..10_000).map(pod).collect();
        let pods = json!({"items": pods, "pattern": "pod-.*"});
        for query in [
            "$..image",
            "$.items[?@.metadata.labels.app == 'web'].spec.containers[*].image",
            "$.items[?match(@.metadata.name, 'pod-.*')].metadata.name",
            "$..[?@.port == 80]",
            "$.items[?match(@.metadata.name, $.pattern)].metadata",
            // A pattern that is too large, which is found out once.
            "$.items[?!search(@.metadata.name, '(\\\\w{10}){100}')].metadata",
        ] {
            assert_eq!(found(query, &pods).unwrap().len(), 10_000, "{query}");
        }
    }

    #[test]
    fn a_query_that_looks_at_too_much_is_refused() {
        let nested = (0..60).fold(json!(1), |inner, _| json!({ "a": inner }));
        let list: Value = (0..2_000).collect();
        let long = "k".repeat(10_000);
        let keyed = json!({ "k".repeat(100_000): list });
        let texts = json!({"t": vec!["a".repeat(100_000); 50]});
        assert_eq!(found("$..*..*", &nested).unwrap().len(), 60 * 59 / 2);
        let several = format!("$..a{}", "['a','a']".repeat(20));
        let names = format!("$[*][{}]", vec!["'a'"; 4_000].join(","));
        let indices = format!("$[*][{}]", vec!["0"; 8_000].join(","));
        let constants = format!("$[?{}]", vec!["1 == 1"; 1_500].join(" && "));
        let pattern = format!("$[?match('{long}', 'k*')]");
        let patterns: Value = (0..200).map(|n| format!("[a-z]{{{n}}}")).collect();
        for (query, value) in [
            ("$..*..*..*..*..*", &nested),
            (&several, &nested),
            ("$[?$..*]", &list),
            ("$[?$[?@ > 1]]", &list),
            ("$[?count($[?@ > 1]) > 1]", &list),
            ("$.*[*]", &keyed),
            (&names, &list),
            (&indices, &list),
            (&constants, &list),
            (&pattern, &list),
            ("$.t[?count($.t[?search(@, 'b')]) > 1]", &texts),
            ("$[?search('a', @)]", &patterns),
            ("$[?in(@, $)]", &list),
        ] {
            let short = &query[..query.len().min(40)];
            assert!(found(query, value).is_none(), "{short}");
        }
    }
}
