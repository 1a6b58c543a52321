//! Strategic merge patches: merge patches with directives, which merge lists by keys.
//!
//! <https://github.com/kubernetes/design-proposals-archive/blob/main/cli/preserve-order-in-strategic-merge-patch.md>

use serde_json::{Map, Value};

use super::{
    json::rejected,
    order::{Key, ordered},
};
use crate::{
    error::ApiError,
    go,
    schema::{Schema, Type, node::Field},
};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const ORDER_OF: &str = "$setElementOrder";

const BAD_PRIMITIVE_LIST: &str = "invalid patch format of primitive list";
const BAD_RETAIN_KEYS: &str = "invalid patch format of retainKeys";
const BAD_ORDER: &str = "invalid patch format of setElementOrder list";

type Object = Map<String, Value>;

/// Applies a strategic merge patch to an object of a built-in kind.
pub(crate) fn strategic(schema: &Schema, live: &Value, patch: &Value) -> Result<Value, ApiError> {
    let (Value::Object(live), Value::Object(patch)) = (live, patch) else {
        return Err(ApiError::bad_request(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_kind(patch)
        )));
    };
    let merged = merge_maps(Some(schema.root()), live.clone(), patch.clone())?;
    Ok(Value::Object(merged))
}

/// Returns the error of the real server for unexpected failures: a 500 without a reason.
fn failure(message: String) -> ApiError {
    ApiError::unclassified(message)
}

fn no_merge_key(item: &Value, key: &str) -> ApiError {
    failure(format!(
        "map: {} does not contain declared merge key: {key}",
        go::plain(item)
    ))
}

fn merge_maps(
    place: Option<Type<'_>>,
    mut live: Object,
    mut patch: Object,
) -> Result<Object, ApiError> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(directive) if directive == "replace" => return Ok(patch),
        Some(directive) if directive == "delete" => return Ok(Object::new()),
        Some(directive) => {
            patch.insert(DIRECTIVE.to_owned(), directive.clone());
            return Err(failure(format!(
                "unknown patch type: {} in map: {}",
                go::plain(&directive),
                go::plain(&Value::Object(patch))
            )));
        }
    }
    retain_keys(&mut live, &mut patch)?;
    order_lists(place, &mut live, &mut patch)?;
    for (name, value) in patch {
        let prefixed = name.starts_with(DELETE_FROM);
        let name = if prefixed {
            suffix(&name, DELETE_FROM, BAD_PRIMITIVE_LIST)?
        } else {
            &name
        };
        if prefixed {
            delete_items(name, &mut live, value)?;
        } else {
            merge_field(place, name, &mut live, value)?;
        }
    }
    Ok(live)
}

fn suffix<'a>(name: &'a str, prefix: &str, error: &str) -> Result<&'a str, ApiError> {
    match name.split_once('/') {
        Some((head, rest)) if head == prefix => Ok(rest),
        _ => Err(ApiError::bad_request(error)),
    }
}

fn delete_items(name: &str, live: &mut Object, gone: Value) -> Result<(), ApiError> {
    match (live.get_mut(name), gone) {
        (Some(Value::Array(items)), Value::Array(gone)) => {
            if gone.iter().chain(items.iter()).any(Value::is_array) {
                return Err(rejected());
            }
            items.retain(|item| !gone.contains(item));
            Ok(())
        }
        (_, Value::Null) => {
            live.remove(name);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Merges one field whose name contains no directive.
fn merge_field(
    place: Option<Type<'_>>,
    name: &str,
    live: &mut Object,
    patch: Value,
) -> Result<(), ApiError> {
    let field = || field_of(place, name);
    let merged = match (live.remove(name), patch) {
        (_, Value::Null) => None,
        (Some(Value::Object(live)), Value::Object(patch)) => {
            let (below, field) = field()?;
            Some(Value::Object(
                if field.is_some_and(|field| field.strategy.replace) {
                    patch
                } else {
                    merge_maps(below, live, patch)?
                },
            ))
        }
        (Some(Value::Array(live)), Value::Array(patch)) => {
            let (below, field) = field()?;
            let merges = field.is_some_and(|field| field.strategy.merge);
            let key = field.and_then(|field| field.merge_key.as_deref());
            Some(Value::Array(if merges {
                merge_lists(below, live, patch, key)?
            } else {
                patch
            }))
        }
        (_, mut patch) => {
            discard_nulls(&mut patch);
            without_directives(patch)
        }
    };
    if let Some(merged) = merged {
        live.insert(name.to_owned(), merged);
    }
    Ok(())
}

/// Returns the type below a field (for a list, that of its items), and the field if it has a name in the
/// schema.
fn field_of<'a>(
    place: Option<Type<'a>>,
    name: &str,
) -> Result<(Option<Type<'a>>, Option<&'a Field>), ApiError> {
    let Some((place, map)) = place.and_then(|place| Some((place, place.node().map.as_ref()?)))
    else {
        return Ok((None, None));
    };
    let field = map.field(name);
    if field.is_none() && map.rest.is_none() {
        let go = place.node().go.as_deref().unwrap_or_default();
        return Err(failure(format!(
            "unable to find api field in struct {} for the json field {name:?}",
            go.rsplit('.').next().unwrap_or(go)
        )));
    }
    let below = map.child(name).map(|id| place.at(id));
    let below = below.map(|below| match &below.node().list {
        Some(list) if below.node().map.is_none() => below.at(list.items),
        _ => below,
    });
    Ok((below, field))
}

/// Handles `$retainKeys`: removes the fields of the live object that the directive does not list.
fn retain_keys(live: &mut Object, patch: &mut Object) -> Result<(), ApiError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retained) = retained else {
        return Err(ApiError::bad_request(BAD_RETAIN_KEYS));
    };
    let is_retained = |name: &str| retained.iter().any(|one| one == name);
    let is_directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(ORDER_OF);
    let listed = patch
        .iter()
        .all(|(name, value)| value.is_null() || is_directive(name) || is_retained(name));
    if !listed {
        return Err(ApiError::bad_request(BAD_RETAIN_KEYS));
    }
    live.retain(|name, _| is_retained(name));
    Ok(())
}

/// Handles `$setElementOrder`: merges the lists that have the directive, and removes them from the patch.
fn order_lists(
    place: Option<Type<'_>>,
    live: &mut Object,
    patch: &mut Object,
) -> Result<(), ApiError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(ORDER_OF))
        .cloned()
        .collect();
    for directive in directives {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err(failure(
                "expected a []interface {}, but received another type".to_owned(),
            ));
        };
        let name = suffix(&directive, ORDER_OF, BAD_ORDER)?;
        let (below, field) = field_of(place, name)?;
        let key = field.and_then(|field| field.merge_key.as_deref());
        let merges = field.is_some_and(|field| field.strategy.merge);
        let (ours, theirs) = (list(live.get(name))?, list(patch.remove(name).as_ref())?);
        check_order(theirs.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (ours.clone(), theirs) {
            (None, None) => continue,
            (Some(ours), None) => ours,
            (None, Some(theirs)) => match without_directives(Value::Array(theirs)) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
            (Some(ours), Some(theirs)) if merges => merge_lists(below, ours, theirs, key)?,
            (Some(_), Some(theirs)) => theirs,
        };
        if let Some(key) = key {
            keyed(&merged, key)?;
            keyed(&order, key)?;
        }
        let ours = ours.unwrap_or_default();
        let merged = ordered(merged, &order, &ours, Key(key));
        live.insert(name.to_owned(), Value::Array(merged));
    }
    Ok(())
}

fn list(value: Option<&Value>) -> Result<Option<Vec<Value>>, ApiError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(failure(format!(
            "expected a []interface {{}}, but received a {}",
            go::type_name(other)
        ))),
    }
}

/// Checks that the items of a patch have the order of the directive.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), ApiError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if let Some(key) = key
            && item.get(key).is_none()
        {
            return Err(no_merge_key(item, key));
        }
        let wanted = Key(key).key_of(item);
        if !rest.any(|other| Key(key).key_of(other) == wanted) {
            return Err(failure(format!(
                "The order in patch list:\n{}\n doesn't match {ORDER_OF} list:\n{}\n",
                go::plain(&patch.into()),
                go::plain(&order.into())
            )));
        }
    }
    Ok(())
}

/// Checks that all items are maps that contain the key.
fn keyed(items: &[Value], key: &str) -> Result<(), ApiError> {
    match items.iter().find(|item| item.get(key).is_none()) {
        Some(item) if item.is_object() => Err(no_merge_key(item, key)),
        Some(item) => Err(failure(format!(
            "expected a map[string]interface {{}}, but received a {}",
            go::type_name(item)
        ))),
        None => Ok(()),
    }
}

fn merge_lists(
    item: Option<Type<'_>>,
    live: Vec<Value>,
    patch: Vec<Value>,
    key: Option<&str>,
) -> Result<Vec<Value>, ApiError> {
    let kinds: Vec<_> = live
        .iter()
        .chain(&patch)
        .map(std::mem::discriminant)
        .collect();
    let Some(first) = live.first().or_else(|| patch.first()) else {
        return Ok(live);
    };
    if first.is_array() {
        return Err(rejected());
    }
    if kinds.iter().any(|kind| *kind != kinds[0]) {
        return Err(failure(format!(
            "list element types are not identical: [{} {}]",
            go::plain(&live.into()),
            go::plain(&patch.into())
        )));
    }
    if !first.is_object() {
        let mut merged = Vec::with_capacity(live.len() + patch.len());
        for one in live.iter().chain(&patch) {
            if !merged.contains(one) {
                merged.push(one.clone());
            }
        }
        return Ok(ordered(merged, &patch, &live, Key(None)));
    }
    let Some(key) = key else {
        return Err(failure(
            "cannot merge lists without merge key for slice".to_owned(),
        ));
    };
    let (live, patch) = with_directives(live, patch, key)?;
    let merged = merge_items(item, live.clone(), &patch, key)?;
    keyed(&merged, key)?;
    Ok(ordered(merged, &patch, &live, Key(Some(key))))
}

/// Applies the items with a directive. Returns the other items of the live list and of the patch.
fn with_directives(
    mut live: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        match item
            .get(DIRECTIVE)
            .map(|directive| directive.as_str().unwrap_or_default())
        {
            None => rest.push(item),
            Some("delete") => match item.get(key) {
                Some(value) => live.retain(|one| one.get(key) != Some(value)),
                None => return Err(no_merge_key(&item, key)),
            },
            Some("replace") => replaces = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(failure(text.to_owned()));
            }
            Some(other) => {
                return Err(failure(format!(
                    "unknown patch type: {other} in map: {}",
                    go::plain(&item)
                )));
            }
        }
    }
    Ok(if replaces {
        (rest, Vec::new())
    } else {
        (live, rest)
    })
}

fn merge_items(
    place: Option<Type<'_>>,
    mut live: Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<Vec<Value>, ApiError> {
    for item in patch {
        if item.get(key).is_none() {
            return Err(no_merge_key(item, key));
        }
        match Key(Some(key)).position(&live, item) {
            Some(index) => {
                if let (Value::Object(ours), Value::Object(theirs)) = (live[index].take(), item) {
                    live[index] = Value::Object(merge_maps(place, ours, theirs.clone())?);
                }
            }
            None => live.push(item.clone()),
        }
    }
    Ok(live)
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Returns the value without the maps that contain a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter();
            let kept = kept.filter_map(|(name, field)| Some((name, without_directives(field)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}
