//! Filters that Ansible and Helm have and Jinja has not, under the names that their users know.

#![expect(
    clippy::needless_pass_by_value,
    reason = "minijinja converts arguments to owned values"
)]

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::Md5;
use minijinja::value::{Kwargs, Rest, Serde, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::super::regular_expression::{self, Pattern};
use super::super::{crypto, encoding, text};
use super::bounds::add_filter;
use super::limits::{self, MAX_VALUE, too_large};
use super::placeholders::{self, markup};
use crate::model::{json, yaml};

type Filtered<T> = Result<T, Error>;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    for name in ["to_yaml", "to_nice_yaml"] {
        add_filter(environment, name, to_yaml);
    }
    for name in ["toyaml", "toYaml"] {
        add_filter(environment, name, |value: Value| {
            markup(&bare_yaml(&data(&value)?)?)
        });
    }
    for name in ["to_json", "toJson"] {
        add_filter(environment, name, to_json);
    }
    add_filter(environment, "to_nice_json", to_nice_json);
    add_filter(environment, "tojson", tojson);
    add_filter(environment, "safe", safe);
    add_filter(environment, "indent", indent);
    add_filter(environment, "trim", trim);
    add_filter(environment, "from_yaml", from_yaml);
    add_filter(environment, "from_yaml_all", from_yaml_all);
    add_filter(environment, "from_json", from_json);
    add_filter(environment, "b64encode", |text: String| {
        BASE64_STANDARD.encode(text)
    });
    add_filter(environment, "b64decode", |text: String| {
        encoding::decode_base64(&text).map_err(refuse)
    });
    add_filter(environment, "hash", hash);
    add_filter(environment, "bool", to_bool);
    add_filter(environment, "quote", |text: String| {
        let quoted = quote(&text);
        if quoted == text {
            return Ok(text.into());
        }
        // Alone in YAML the quotes are YAML's, as in a chart.
        placeholders::written_as(Json::String(text), &quoted)
    });
    add_filter(environment, "ternary", ternary);
    add_filter(environment, "mandatory", mandatory);
    add_filter(environment, "nindent", nindent);
    add_filter(environment, "regex_replace", regex_replace);
    add_filter(environment, "regex_search", regex_search);
    add_filter(environment, "combine", combine);
    add_filter(environment, "dict2items", dict2items);
    add_filter(environment, "items2dict", items2dict);
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
fn to_yaml(value: Value, _looks: Kwargs) -> Filtered<Value> {
    match data(&value)? {
        // A text with several lines would become a block scalar, whose lines would not be indented where the
        // template inserts it.
        Json::String(text) if text.contains('\n') => {
            markup(&printable(format!("{}\n", Json::String(text))))
        }
        data => markup(&yaml_of(&data)?),
    }
}

fn yaml_of(data: &Json) -> Filtered<String> {
    yaml::write_within(data, MAX_VALUE).ok_or_else(too_large)
}

/// Writes YAML without the last newline, as Helm does.
fn bare_yaml(value: &Json) -> Filtered<String> {
    match value {
        Json::String(text) if text.contains('\n') => Ok(printable(value.to_string())),
        _ => {
            let mut text = yaml_of(value)?;
            if text.ends_with('\n') {
                text.pop();
            }
            Ok(text)
        }
    }
}

fn to_json(value: Value, _looks: Kwargs) -> Filtered<Value> {
    let data = data(&value)?;
    let text = data.to_string();
    placeholders::written_as(data, &text)
}

fn to_nice_json(value: Value, _looks: Kwargs) -> Filtered<Value> {
    let data = data(&value)?;
    markup(&printable(limits::text(format_args!("{data:#}"))?))
}

/// Escapes in JSON what YAML takes for no text, and what ends a quoted scalar.
pub(super) fn printable(json: String) -> String {
    let is_control = |c: char| matches!(c, '\'' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if !json.contains(is_control) {
        return json;
    }
    let escaped = json.chars().map(|c| match c {
        c if is_control(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    escaped.collect()
}

/// Jinja's own, for HTML.
fn tojson(arguments: Rest<ValueOrKwargs>) -> Filtered<Value> {
    let text = builtin("tojson", arguments)?.to_string();
    let data = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    placeholders::written_as(data, &text)
}

/// Calls a filter of Jinja's own.
fn builtin(name: &str, arguments: Rest<ValueOrKwargs>) -> Filtered<Value> {
    static BUILTIN: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment
    });
    let arguments = arguments.into_values();
    BUILTIN.empty_state().apply_filter(name, &arguments)
}

/// Makes structure of a text from data; data within text of the template stays data.
fn safe(value: Value) -> Filtered<Value> {
    if placeholders::has_own_text(&value) {
        return Ok(value);
    }
    markup(&value.to_string())
}

/// Indents text; data of several lines too, so that a block scalar takes its lines as they are.
fn indent(value: Value, others: Rest<ValueOrKwargs>) -> Filtered<Value> {
    let others = others.into_values();
    let with = |value: Value| {
        let arguments = [value].into_iter().chain(others.iter().cloned());
        builtin("indent", Rest(arguments.map(ValueOrKwargs::from).collect()))
    };
    if let Some(text) = placeholders::markup_of(&value) {
        return markup(&with(text.into())?.to_string());
    }
    let width = with("x\nx".into())?.to_string();
    let first = width.len() - width.trim_start().len();
    let width = width.rsplit('\n').next().map_or(0, str::len) - 1;
    let made = with(value)?.to_string();
    // A blank first line stays blank.
    let before = made.starts_with(&" ".repeat(first)).then_some(first);
    let (before, rest) = made.split_at(before.unwrap_or_default());
    let marked = placeholders::indented(before, rest, width)?;
    Ok(marked.unwrap_or_else(|| made.into()))
}

/// Removes white space, or characters, at both ends.
fn trim(value: Value, others: Rest<ValueOrKwargs>) -> Filtered<Value> {
    match placeholders::markup_of(&value) {
        Some(text) if others.is_empty() => placeholders::trimmed(&text),
        _ => {
            let mut arguments = vec![ValueOrKwargs::from(value)];
            arguments.extend(others.0);
            builtin("trim", Rest(arguments))
        }
    }
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
    let parsed = json::parse(&text).map_err(|error| refuse(format!("not JSON: {error}")))?;
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
            "hash: expected sha1, sha256, sha512 or md5, found `{other}`"
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
fn nindent(value: Value, width: usize) -> Filtered<Value> {
    let lines = |text: &str| {
        let indented = text
            .lines()
            .flat_map(|line| ["\n".to_owned(), " ".repeat(width), line.to_owned()]);
        indented.collect::<String>()
    };
    if let Some(text) = placeholders::markup_of(&value) {
        return markup(&lines(&text));
    }
    data(&value)?;
    let made = lines(&value.to_string());
    let (before, rest) = made.split_at(made.len().min(width + 1));
    let marked = placeholders::indented(before, rest, width)?;
    Ok(marked.unwrap_or_else(|| made.into()))
}

/// Replaces all matches. In the replacement, Python's `\1` and `\g<name>` stand for groups; a dollar is
/// a dollar.
fn regex_replace(text: String, pattern: &str, replacement: Option<String>) -> Filtered<String> {
    let refused = |error: regular_expression::Error| refuse(error.to_string());
    let pattern = Pattern::new(pattern).map_err(refused)?;
    let regex = pattern.search(&text).map_err(refused)?;
    let replacement = replacement.unwrap_or_default().replace('$', "$$");
    let groups = Pattern::new(r"\\(?:(\d)|g<(\w+)>)").map_err(refused)?;
    let groups = groups.search(&replacement).map_err(refused)?;
    let replacement = groups.replace_all(&replacement, "$${$1$2}");
    text::replace_all(regex, &text, &replacement).map_err(refuse)
}

/// Returns the first match of a pattern, or none.
fn regex_search(text: String, pattern: &str) -> Filtered<Option<String>> {
    let refused = |error: regular_expression::Error| refuse(error.to_string());
    let pattern = Pattern::new(pattern).map_err(refused)?;
    let regex = pattern.search(&text).map_err(refused)?;
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
