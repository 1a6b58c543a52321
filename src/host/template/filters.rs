//! Filters that Ansible and Helm have and Jinja has not, under the names that their users know.

#![expect(
    clippy::needless_pass_by_value,
    reason = "minijinja converts arguments to owned values"
)]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::Md5;
use minijinja::value::{Kwargs, Rest, Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::{Map, Value as Json};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::super::{crypto, encoding, text};
use super::{bounds, reads};
use crate::model::yaml;

type Filtered<T> = Result<T, Error>;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    for name in ["to_yaml", "to_nice_yaml"] {
        environment.add_filter(name, to_yaml);
    }
    for name in ["toyaml", "toYaml"] {
        environment.add_filter(name, |value: Value| data(&value).map(|it| bare_yaml(&it)));
    }
    for name in ["to_json", "toJson"] {
        environment.add_filter(name, to_json);
    }
    environment.add_filter("to_nice_json", to_nice_json);
    environment.add_filter("from_yaml", from_yaml);
    environment.add_filter("from_yaml_all", from_yaml_all);
    environment.add_filter("from_json", from_json);
    environment.add_filter("b64encode", |text: String| BASE64_STANDARD.encode(text));
    environment.add_filter("b64decode", |text: String| {
        encoding::decode_base64(&text).map_err(refuse)
    });
    environment.add_filter("hash", hash);
    environment.add_filter("bool", to_bool);
    environment.add_filter("quote", |text: String| quote(&text));
    environment.add_filter("ternary", ternary);
    environment.add_filter("mandatory", mandatory);
    environment.add_filter("nindent", |text: String, width: usize| {
        nindent(&text, width)
    });
    environment.add_filter("regex_replace", regex_replace);
    environment.add_filter("regex_search", regex_search);
    environment.add_filter("combine", combine);
    environment.add_filter("dict2items", dict2items);
    environment.add_filter("items2dict", items2dict);
}

fn refuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// A value as data; an undefined one is the error that names it.
fn data(value: &Value) -> Filtered<Json> {
    if value.is_undefined() {
        value.get_attr("")?;
    }
    serde_json::to_value(value).map_err(|error| refuse(error.to_string()))
}

/// Ansible's arguments of looks (`indent`, `width`, `default_flow_style`) change nothing in the data.
fn to_yaml(value: Value, _looks: Kwargs) -> Filtered<String> {
    Ok(yaml::write(&data(&value)?))
}

/// Without the last newline, as Helm's.
fn bare_yaml(value: &Json) -> String {
    yaml::write(value).trim_end().to_owned()
}

fn to_json(value: Value, _looks: Kwargs) -> Filtered<String> {
    Ok(data(&value)?.to_string())
}

fn to_nice_json(value: Value, _looks: Kwargs) -> Filtered<String> {
    serde_json::to_string_pretty(&data(&value)?).map_err(|error| refuse(error.to_string()))
}

fn from_yaml(text: String) -> Filtered<Value> {
    let parsed = yaml::parse(&text).map_err(|error| refuse(format!("not YAML: {error}")))?;
    Ok(Serde(parsed).into())
}

fn from_yaml_all(text: String) -> Filtered<Value> {
    let parsed = yaml::parse_all(&text).map_err(|error| refuse(format!("not YAML: {error}")))?;
    Ok(Serde(parsed).into())
}

fn from_json(text: String) -> Filtered<Value> {
    let parsed: Json =
        serde_json::from_str(&text).map_err(|error| refuse(format!("not JSON: {error}")))?;
    Ok(Serde(parsed).into())
}

fn hash(text: String, algorithm: Option<&str>) -> Filtered<String> {
    let bytes = text.as_bytes();
    match algorithm.unwrap_or("sha1") {
        "sha1" => Ok(crypto::hex::<Sha1>(bytes)),
        "sha256" => Ok(crypto::hex::<Sha256>(bytes)),
        "sha512" => Ok(crypto::hex::<Sha512>(bytes)),
        "md5" => Ok(crypto::hex::<Md5>(bytes)),
        other => Err(refuse(format!(
            "hash knows sha1, sha256, sha512 and md5, not `{other}`"
        ))),
    }
}

/// Ansible's reading of words: `yes`, `on`, `1` and `true` are true, all else is not.
fn to_bool(value: Value) -> Filtered<bool> {
    let word = match data(&value)? {
        Json::Bool(it) => return Ok(it),
        Json::Number(it) => it.to_string(),
        Json::String(it) => it.to_lowercase(),
        _ => return Ok(false),
    };
    Ok(matches!(
        word.as_str(),
        "true" | "yes" | "on" | "1" | "y" | "t"
    ))
}

/// Quotes a text for a POSIX shell.
fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r#"'"'"'"#))
}

fn ternary(value: Value, yes: Value, no: Value, unknown: Option<Value>) -> Filtered<Value> {
    data(&value)?;
    Ok(match unknown {
        Some(unknown) if value.is_none() => unknown,
        _ if value.is_true() => yes,
        _ => no,
    })
}

fn mandatory(value: Value, message: Option<String>) -> Filtered<Value> {
    match message {
        Some(message) if value.is_undefined() => Err(refuse(message)),
        _ => data(&value).map(|_| value),
    }
}

/// A newline, then the text with each line indented: Helm's.
fn nindent(text: &str, width: usize) -> String {
    let indented = text
        .lines()
        .flat_map(|line| ["\n".to_owned(), " ".repeat(width), line.to_owned()]);
    indented.collect()
}

/// Python's `\1` and `\g<name>` in the replacement; a dollar is a dollar.
fn regex_replace(text: String, pattern: &str, replacement: Option<String>) -> Filtered<String> {
    reads::read_pattern(pattern)?;
    let regex = text::regex(pattern).map_err(|error| refuse(text::why(&error)))?;
    let replacement = replacement.unwrap_or_default();
    bounds::make(text::replaced_length(&regex, &text, &replacement, '\\'))?;
    let escaped = replacement.replace('$', "$$");
    let groups = text::regex(r"\\(?:(\d)|g<(\w+)>)").map_err(|error| refuse(error.to_string()))?;
    let replacement = groups.replace_all(&escaped, "$${$1$2}");
    Ok(regex.replace_all(&text, replacement.as_ref()).into_owned())
}

/// What a pattern finds first, or none.
fn regex_search(text: String, pattern: &str) -> Filtered<Option<String>> {
    reads::read_pattern(pattern)?;
    let regex = text::regex(pattern).map_err(|error| refuse(text::why(&error)))?;
    Ok(regex.find(&text).map(|found| found.as_str().to_owned()))
}

/// Ansible's merge of maps: later ones win, `recursive=true` merges maps within maps.
fn combine(value: Value, others: Rest<Value>, options: Kwargs) -> Filtered<Value> {
    let recursive = options
        .get::<Option<bool>>("recursive")?
        .unwrap_or_default();
    options.assert_all_used()?;
    let mut merged = map(&value)?;
    for other in others.iter() {
        overlay(&mut merged, map(other)?, recursive);
    }
    Ok(Serde(merged).into())
}

fn map(value: &Value) -> Filtered<Map<String, Json>> {
    match data(value)? {
        Json::Object(map) => Ok(map),
        _ => Err(refuse(format!("expected a map, not {}", value.kind()))),
    }
}

fn overlay(base: &mut Map<String, Json>, over: Map<String, Json>, recursive: bool) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Json::Object(inner)), Json::Object(value)) if recursive => {
                overlay(inner, value, true);
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn dict2items(value: Value) -> Filtered<Value> {
    let items = map(&value)?.into_iter().map(|(key, value)| {
        Map::from_iter([
            ("key".to_owned(), Json::String(key)),
            ("value".to_owned(), value),
        ])
    });
    Ok(Serde(items.collect::<Vec<_>>()).into())
}

fn items2dict(value: Value) -> Filtered<Value> {
    if value.kind() != ValueKind::Seq {
        data(&value)?;
        return Err(refuse(format!(
            "expected a list of items, not {}",
            value.kind()
        )));
    }
    let items = value.try_iter()?.map(|item| {
        let key = item.get_attr("key")?;
        Ok((key.to_string(), data(&item.get_attr("value")?)?))
    });
    Ok(Serde(items.collect::<Filtered<Map<_, _>>>()?).into())
}
