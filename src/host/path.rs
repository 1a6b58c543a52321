//! Reading and merging nested values: `merge`, `get`, `jsonpath`, `jsonpath_one`.

use std::borrow::Cow;

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, Map};

use super::compile_cache::CompileCache;
use super::{HostResult, arguments, invalid, json_path};
use crate::script::{self, value};

/// As deep as JSON readers go; deeper values are a script's mistake, and would exhaust the stack.
const MAX_DEPTH: usize = 128;

/// Characters of a query that a message shows.
const SHOWN: usize = 200;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[expect(
    clippy::unwrap_used,
    reason = "in the wrappers that the macro makes of functions with a `&mut` value"
)]
#[export_module]
mod functions {
    /// Merges two maps at every depth. If both have a key, the value of `over` is used.
    ///
    /// Maps under the same key are merged. Other values, including arrays, are replaced. A key with the
    /// value `()` in `over` is removed.
    ///
    /// - `base`: the map to start from; it is not changed.
    /// - `over`: the map with precedence.
    ///
    /// Errors: `invalid` when the maps are nested deeper than 128 levels.
    ///
    /// ```rhai
    /// let labels = merge(#{app: "web", tier: "front"}, #{tier: (), team: "blue"});
    /// assert(labels == #{app: "web", team: "blue"});
    /// assert(merge(#{a: #{x: 1, y: 2}}, #{a: #{y: 3}}) == #{a: #{x: 1, y: 3}});
    /// ```
    #[rhai_fn(return_raw)]
    pub fn merge(base: Map, over: Map) -> HostResult<Map> {
        merged(base, over)
    }

    /// Returns a nested value, or the default if it does not exist.
    ///
    /// The result is also the default if a key of the path is missing, or if a value on the path is `()`
    /// or has no keys. A number selects an element of an array; a negative number counts from the end.
    ///
    /// - `value`: a map, an array, or `()`.
    /// - `path`: keys joined by dots, or an array of keys, for keys that contain dots.
    /// - `default`: the result if the value does not exist or is `()`.
    ///
    /// ```rhai
    /// let pod = #{metadata: #{labels: #{"app.kubernetes.io/name": "web"}},
    ///             spec: #{containers: [#{image: "nginx"}]}};
    /// assert(get(pod, "spec.containers.0.image", "none") == "nginx");
    /// assert(get(pod, "status.phase", "Unknown") == "Unknown");
    /// assert(get(pod, ["metadata", "labels", "app.kubernetes.io/name"], "") == "web");
    /// ```
    #[rhai_fn(name = "get", pure)]
    pub fn get_path(value: &mut Dynamic, path: &str, default: Dynamic) -> Dynamic {
        find_at_path(value, path.split('.')).unwrap_or(default)
    }

    #[rhai_fn(name = "get", pure, return_raw)]
    pub fn get_keys(value: &mut Dynamic, path: Array, default: Dynamic) -> HostResult<Dynamic> {
        let keys: Vec<String> = path.iter().map(ToString::to_string).collect();
        if let Some(odd) = path.iter().find(|key| !key.is_string() && !key.is_int()) {
            return Err(invalid(format!(
                "key: expected a string or an integer, found {odd:?}"
            )));
        }
        Ok(find_at_path(value, keys.iter().map(String::as_str)).unwrap_or(default))
    }

    /// Selects all values that a JSONPath query (RFC 9535) finds, in order.
    ///
    /// - `value`: the map or array to search.
    /// - `query`: begins with `$`, e.g. `$.status.conditions[?@.type == 'Ready'].status`.
    ///
    /// Errors: `invalid` if the query is not JSONPath, is longer than 16 KiB, has brackets nested more
    /// than ten levels deep, or visits values far more often than once each.
    ///
    /// ```rhai
    /// let pods = [#{name: "a", ready: true}, #{name: "b", ready: false}];
    /// assert(jsonpath(pods, "$[?@.ready == true].name") == ["a"]);
    /// assert(jsonpath(pods, "$[*].phase") == []);
    /// ```
    #[rhai_fn(pure, return_raw)]
    pub fn jsonpath(value: &mut Dynamic, query: &str) -> HostResult<Array> {
        select(value, query, usize::MAX)
    }

    /// Selects the first value that a JSONPath query (RFC 9535) finds, or `()`.
    ///
    /// - `value`: the map or array to search.
    /// - `query`: begins with `$`.
    ///
    /// Errors: as for `jsonpath`.
    ///
    /// ```rhai
    /// let conditions = #{conditions: [#{type: "Ready", status: "True"}]};
    /// assert(jsonpath_one(conditions, "$.conditions[?@.type == 'Ready'].status") == "True");
    /// assert(jsonpath_one(conditions, "$.phase") == ());
    /// ```
    #[rhai_fn(pure, return_raw)]
    pub fn jsonpath_one(value: &mut Dynamic, query: &str) -> HostResult<Dynamic> {
        first_match(value, query)
    }
}

/// The first value that a query finds, or `()`.
pub(super) fn first_match(value: &Dynamic, query: &str) -> HostResult<Dynamic> {
    Ok(select(value, query, 1)?.pop().unwrap_or_default())
}

/// Two maps merged as `merge` promises.
pub(crate) fn merged(mut base: Map, over: Map) -> HostResult<Map> {
    lay_over(&mut base, over, 0)?;
    Ok(base)
}

/// Lays `over` over `base`, in place.
fn lay_over(base: &mut Map, over: Map, depth: usize) -> HostResult<()> {
    if depth > MAX_DEPTH {
        return Err(invalid(format!(
            "maps are nested deeper than {MAX_DEPTH} levels"
        )));
    }
    for (key, value) in over {
        script::tick()?;
        // Moved, unless a variable shares it: to copy it at each level takes time by the square of the depth.
        let value = value.flatten();
        if value.is_unit() {
            base.remove(&key);
        } else if value.is_map() {
            let value = value.cast::<Map>();
            let mut inner = base
                .remove(&key)
                .map(Dynamic::flatten)
                .and_then(Dynamic::try_cast)
                .unwrap_or_default();
            lay_over(&mut inner, value, depth + 1)?;
            base.insert(key, inner.into());
        } else {
            base.insert(key, value);
        }
    }
    Ok(())
}

/// The value at the end of a path of keys, unless it is `()`. Only that value is copied.
fn find_at_path<'a>(value: &Dynamic, mut keys: impl Iterator<Item = &'a str>) -> Option<Dynamic> {
    let Some(key) = keys.next() else {
        return (!value.is_unit()).then(|| value.clone());
    };
    if let Some(map) = value.read_lock::<Map>() {
        return find_at_path(map.get(key)?, keys);
    }
    let array = value.read_lock::<Array>()?;
    find_at_path(array.get(index(key, array.len())?)?, keys)
}

/// Returns the index of a number, which counts from the end if it is negative.
fn index(key: &str, length: usize) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let from_end = if index < 0 {
        i64::try_from(length).ok()?
    } else {
        0
    };
    usize::try_from(index + from_end).ok()
}

/// The first `most` values that a query finds.
pub(crate) fn select(value: &Dynamic, query: &str, most: usize) -> HostResult<Array> {
    thread_local! {
        static QUERIES: CompileCache<json_path::Query> = CompileCache::new();
    }
    let parsed = QUERIES
        .with(|known| known.get(query, json_path::Query::parse))
        .map_err(|error| invalid(not_a_query(query, &error.to_string())))?;
    let value = arguments::json(value)?;
    let found = parsed.select(&value).map_err(|json_path::Exhausted| {
        invalid(format!(
            "query `{}` takes too many steps for the size of the value; hint: name each member instead of \
             using `..`, and compute a value that a filter compares with before the query",
            short(query)
        ))
    })?;
    Ok(found
        .into_iter()
        .take(most)
        .map(value::to_dynamic)
        .collect())
}

/// Returns the message for an invalid query. kubectl's dialect omits the `$`, so the hint names it.
fn not_a_query(query: &str, error: &str) -> String {
    let hint = if query.starts_with('$') {
        ""
    } else {
        "; hint: begin the query with `$`"
    };
    format!(
        "invalid JSONPath `{}`: {}{hint}",
        short(query),
        short(error)
    )
}

/// Shortens a query for a message.
fn short(query: &str) -> Cow<'_, str> {
    if query.chars().nth(SHOWN).is_none() {
        return query.into();
    }
    let shown: String = query.chars().take(SHOWN).collect();
    format!("{shown}…").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_that_are_nested_too_deeply_are_refused() {
        let nested = |levels| {
            (0..levels).fold(Map::new(), |inner, _| {
                Map::from([("a".into(), inner.into())])
            })
        };
        assert!(merged(Map::new(), nested(MAX_DEPTH)).is_ok());
        assert!(merged(nested(5), nested(MAX_DEPTH + 2)).is_err());
    }

    #[test]
    fn a_merge_copies_nothing_and_is_interrupted() {
        let leaf = || (0..1_000).map(|n| (n.to_string().into(), n.into()));
        let deep = || {
            (0..100).fold(leaf().collect::<Map>(), |inner, _| {
                Map::from([("a".into(), inner.into())])
            })
        };
        let (base, over) = (deep(), deep());
        let measurement = allocation_meter::Measurement::start();
        merged(base, over).unwrap();
        // A copy of the leaf alone takes 50 KB, one at each level 5 MB.
        assert!(measurement.peak() < 20_000, "{}", measurement.peak());
        let (base, over) = (deep(), deep());
        let _interrupted = checkpoint::install(|| false);
        assert!(merged(base, over).is_err());
    }

    #[test]
    fn a_unit_removes_at_every_level() {
        let inner =
            |value: Dynamic| Map::from([("a".into(), Map::from([("b".into(), value)]).into())]);
        for base in [inner(1_i64.into()), Map::new()] {
            let merged = merged(base, inner(Dynamic::UNIT)).unwrap();
            assert_eq!(merged["a"].read_lock::<Map>().unwrap().len(), 0);
        }
    }

    #[test]
    fn an_index_counts_from_the_end_where_it_is_negative() {
        assert_eq!(
            (index("0", 2), index("-1", 2), index("5", 2)),
            (Some(0), Some(1), Some(5))
        );
        assert_eq!(
            (index("-3", 2), index("x", 2), index("", 2)),
            (None, None, None)
        );
    }

    #[test]
    fn of_a_long_query_a_message_shows_the_begin() {
        let query = "é".repeat(10_000);
        let message = select(&Dynamic::UNIT, &query, 1).unwrap_err().to_string();
        assert!(message.contains(&"é".repeat(SHOWN)), "{message}");
        assert!(message.chars().count() < 4 * SHOWN, "{message}");
    }

    #[test]
    fn a_query_in_the_dialect_of_kubectl_gets_a_hint() {
        let message = select(&Dynamic::UNIT, ".status", 1)
            .unwrap_err()
            .to_string();
        assert!(message.contains("begin the query with `$`"), "{message}");
    }
}
