//! Python's methods on texts and maps, as far as roles use them in templates.

use super::limits;
use minijinja::value::{ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};

/// Answers a method call that the value itself does not know.
pub(super) fn call(
    _state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    limits::checkpoint()?;
    match (value.as_str(), value.kind()) {
        (Some(text), _) => of_text(text, method, arguments),
        (None, ValueKind::Map) => of_map(value, method, arguments),
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

fn of_text(text: &str, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    Ok(match method {
        "lower" => text.to_lowercase().into(),
        "upper" => text.to_uppercase().into(),
        "strip" | "lstrip" | "rstrip" => {
            let (characters,): (Option<&str>,) = from_args(arguments)?;
            let gone =
                |c: char| characters.map_or_else(|| c.is_whitespace(), |set| set.contains(c));
            match method {
                "strip" => text.trim_matches(gone),
                "lstrip" => text.trim_start_matches(gone),
                _ => text.trim_end_matches(gone),
            }
            .into()
        }
        "split" => {
            let (separator,): (Option<&str>,) = from_args(arguments)?;
            limits::fits_split(text, separator)?;
            match separator {
                Some(separator) => text.split(separator).map(Value::from).collect(),
                None => text.split_whitespace().map(Value::from).collect(),
            }
        }
        "splitlines" => {
            limits::fits_split(text, Some("\n"))?;
            text.lines().map(Value::from).collect()
        }
        "replace" => {
            let (old, new): (&str, &str) = from_args(arguments)?;
            limits::fits(limits::replaced(text, old.len(), new.len()))?;
            text.replace(old, new).into()
        }
        "startswith" => text.starts_with(from_args::<(&str,)>(arguments)?.0).into(),
        "endswith" => text.ends_with(from_args::<(&str,)>(arguments)?.0).into(),
        _ => return Err(ErrorKind::UnknownMethod.into()),
    })
}

fn of_map(map: &Value, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    let keys = map.try_iter()?;
    match method {
        "keys" => Ok(keys.collect()),
        "values" => keys.map(|key| map.get_item(&key)).collect(),
        "items" => keys
            .map(|key| Ok(Value::from(vec![key.clone(), map.get_item(&key)?])))
            .collect(),
        "get" => {
            let (key, default): (Value, Option<Value>) = from_args(arguments)?;
            let found = map.get_item(&key)?;
            let absent = default.unwrap_or_else(|| Value::from(()));
            Ok(if found.is_undefined() { absent } else { found })
        }
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}
