//! Finds atomic lists and maps in a configuration.

use serde_json::Value;

use super::shape::MatchedType;
use crate::schema::{Type, node::Relation};

/// Returns the path of the first atomic list or map in a value: `.spec.containers[0].args`.
pub(super) fn find(place: Type<'_>, value: &Value) -> Option<String> {
    match (MatchedType::select(place, Some(value))?, value) {
        (MatchedType::Map(map), Value::Object(fields)) => {
            if map.atomic {
                return Some(String::new());
            }
            fields.iter().find_map(|(name, field)| {
                let below = find(place.at(map.child(name)?), field)?;
                Some(format!(".{name}{below}"))
            })
        }
        (MatchedType::List(list), Value::Array(items)) => {
            if list.relation == Relation::Atomic {
                return Some(String::new());
            }
            let place = place.at(list.items);
            items.iter().enumerate().find_map(|(index, item)| {
                let below = find(place, item)?;
                Some(format!("[{index}]{below}"))
            })
        }
        _ => None,
    }
}
