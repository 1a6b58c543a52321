//! Decodes request bodies in JSON and YAML. Reports duplicate keys and errors with the messages of the real
//! server.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use positioned_yaml::{self as yaml, Content, Node};

use crate::error::ApiError;
use crate::stack;

/// The maximum nesting of an object without its managed fields. The real server's maximum is 10,000.
///
/// Values are parsed, checked and dropped recursively, so the maximum depends on the size of the stack: see
/// [`stack`].
pub(crate) const MAX_DEPTH: usize = yaml::MAX_DEPTH;

/// The levels that managed fields can have beyond those of their object: `metadata`, `managedFields`, the
/// list, `fieldsV1`, and a key for each element of a list.
const MANAGED_FIELDS_DEPTH: usize = 8;

/// The maximum nesting of a JSON document.
pub(crate) const MAX_JSON_DEPTH: usize = MAX_DEPTH + MANAGED_FIELDS_DEPTH;

/// Returns the number of nesting levels of a value: 1 for an empty list, 0 for a text.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Returns an error with the message of the real server if a value is nested too deeply.
pub(crate) fn check_depth(value: &Value) -> Result<(), String> {
    if depth(value) > MAX_DEPTH && object_depth(value) > MAX_DEPTH {
        return Err(TOO_DEEP.to_owned());
    }
    Ok(())
}

/// The error message of the real server for a document that is nested too deeply.
const TOO_DEEP: &str = "exceeded max depth";

/// Returns the depth of an object without its managed fields.
fn object_depth(object: &Value) -> usize {
    let Value::Object(fields) = object else {
        return depth(object);
    };
    let depth_of = |(name, value): (&String, &Value)| match value {
        Value::Object(metadata) if name == "metadata" => {
            let others = metadata.iter().filter(|(name, _)| *name != "managedFields");
            1 + others
                .map(|(_, value)| depth(value))
                .max()
                .unwrap_or_default()
        }
        value => depth(value),
    };
    1 + fields.iter().map(depth_of).max().unwrap_or_default()
}

/// The value of a body, and the duplicate keys that strict decoding reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DecodedBody {
    /// The value. The last of several duplicate keys counts.
    pub value: Value,
    /// `duplicate field "spec.size"`, or one message of the YAML parser for all duplicates.
    pub duplicates: Vec<String>,
}

/// Parses JSON. Errors have the messages of Go.
pub(crate) fn json(text: &[u8]) -> Result<DecodedBody, String> {
    let decoded = json_within(text, MAX_JSON_DEPTH)?;
    check_depth(&decoded.value)?;
    Ok(decoded)
}

/// Parses JSON with at most `levels` nesting levels.
pub(crate) fn json_within(text: &[u8], levels: usize) -> Result<DecodedBody, String> {
    let duplicates = RefCell::new(Vec::new());
    let path = RefCell::new(String::new());
    let mut reader = serde_json::Deserializer::from_slice(text);
    // The seed counts the nesting levels.
    reader.disable_recursion_limit();
    let seed = DuplicateRecorder {
        duplicates: &duplicates,
        path: &path,
        levels,
    };
    let value = seed.deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value) => Ok(DecodedBody {
            value,
            duplicates: duplicates.into_inner(),
        }),
        Err(error) => Err(go_error(text, &error)),
    }
}

/// Parses the first document of a YAML text. It is YAML 1.1, so the key `n` becomes `false`.
pub(crate) fn yaml(text: &[u8]) -> Result<DecodedBody, String> {
    let text = std::str::from_utf8(text).map_err(|_| "yaml: invalid UTF-8".to_owned())?;
    let text = first_document(text);
    // The YAML parser does not know that managed fields can be deeper.
    if bracket_depth(text) > MAX_DEPTH
        && let Ok(decoded) = json(text.as_bytes())
        && decoded.duplicates.is_empty()
    {
        return Ok(decoded);
    }
    stack::with_room(|| document(text))
}

/// Returns the nesting of brackets, including those in strings.
fn bracket_depth(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Parses a document.
fn document(text: &str) -> Result<DecodedBody, String> {
    let root = yaml::parse_positioned(text).map_err(|error| {
        let message = if error.message.starts_with("unclosed bracket") {
            "did not find expected node content"
        } else {
            &error.message
        };
        format!("yaml: line {}: {message}", error.position.line)
    })?;
    let mut lines = Vec::new();
    let rows: Vec<&str> = text.lines().collect();
    let value = value_of(root, &rows, &mut lines)?;
    check_depth(&value)?;
    let duplicates = if lines.is_empty() {
        Vec::new()
    } else {
        vec![format!("yaml: unmarshal errors:\n{}", lines.join("\n"))]
    };
    Ok(DecodedBody { value, duplicates })
}

/// Returns the 400 for a body that cannot be parsed.
pub(crate) fn unrecognized(kind: &str, body: &[u8], why: &str) -> ApiError {
    /// The maximum number of bytes that an error shows, as in `summarizeData` of the real server.
    const MAX_SHOWN: usize = 30;
    let shown = &body[..body.len().min(MAX_SHOWN)];
    let mut summary = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat(),
    };
    if body.len() > MAX_SHOWN {
        summary.push_str(" ...");
    }
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
    ))
}

/// Returns the text up to the second document.
fn first_document(text: &str) -> &str {
    let mut length = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let separates = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with([' ', '\t']));
        let ends = line.trim_end() == "...";
        if has_content && (separates || ends) {
            return &text[..length];
        }
        let content = if separates { &line[3..] } else { line }.trim_start();
        has_content |= !(content.is_empty() || content.starts_with(['#', '%']));
        length += line.len();
    }
    text
}

fn value_of(node: Node, rows: &[&str], twice: &mut Vec<String>) -> Result<Value, String> {
    Ok(match node.content {
        Content::List(items) => Value::Array(
            items
                .into_iter()
                .map(|item| value_of(item, rows, twice))
                .collect::<Result<_, _>>()?,
        ),
        Content::Map(entries) => {
            let mut map = Map::new();
            for (key, node) in entries {
                let name = key_of(&key, rows)?;
                let line = key.position.line;
                let value = value_of(node, rows, twice)?;
                if map.insert(name.clone(), value).is_some() {
                    twice.push(format!("  line {line}: key {name:?} already set in map"));
                }
            }
            Value::Object(map)
        }
        content => content.to_value(),
    })
}

/// Returns a key as text. A key without quotes is parsed as a scalar first.
fn key_of(key: &yaml::Key, rows: &[&str]) -> Result<String, String> {
    let row = rows.get(key.position.line.saturating_sub(1));
    let first = row.and_then(|row| row.chars().nth(key.position.column.saturating_sub(1)));
    if matches!(first, Some('"' | '\'' | '!' | '|' | '>')) {
        return Ok(key.name.clone());
    }
    match yaml::read_scalar(&key.name) {
        Content::Bool(flag) => Ok(flag.to_string()),
        Content::Number(number) => Ok(match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => format!("{float:.0}"),
            _ => number.to_string(),
        }),
        Content::Null => Err("unsupported map key of type: %!s(<nil>), key: <nil>".to_owned()),
        _ => Ok(key.name.clone()),
    }
}

/// Returns the message of Go for an error of serde.
fn go_error(text: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let said = error.to_string();
    if said.starts_with(TOO_DEEP) {
        return TOO_DEEP.to_owned();
    }
    let found = offending(text, error);
    let place = match said.split(" at line ").next().unwrap_or_default() {
        "key must be a string" => "looking for beginning of object key string",
        "trailing comma" if found == '}' => "looking for beginning of object key string",
        "expected `:`" => "after object key",
        "expected `,` or `}`" => "after object key:value pair",
        "expected `,` or `]`" => "after array element",
        "trailing characters" => "after top-level value",
        "invalid escape" => "in string escape code",
        "invalid number" => "in numeric literal",
        other if other.starts_with("control character") => "in string literal",
        _ => "looking for beginning of value",
    };
    let found = match found {
        '\'' => r"\'".to_owned(),
        '"' => "\"".to_owned(),
        other => other.escape_debug().to_string(),
    };
    format!("invalid character '{found}' {place}")
}

/// Returns the first control character within a string.
fn control_character(text: &[u8]) -> Option<char> {
    let (mut quoted, mut escaped) = (false, false);
    let found = text.iter().find(|byte| {
        let is_quote = **byte == b'"' && !escaped;
        escaped = quoted && **byte == b'\\' && !escaped;
        quoted ^= is_quote;
        quoted && **byte < 0x20
    });
    found.map(|byte| char::from(*byte))
}

fn offending(text: &[u8], error: &serde_json::Error) -> char {
    if error.to_string().starts_with("control character") {
        return control_character(text).unwrap_or('\n');
    }
    let row = text
        .split(|byte| *byte == b'\n')
        .nth(error.line().saturating_sub(1));
    let row = row.unwrap_or_default();
    match row.get(error.column().saturating_sub(1)) {
        Some(byte) => char::from(*byte),
        None => '\n',
    }
}

/// A deserializer of values that records duplicate keys.
#[derive(Clone, Copy)]
struct DuplicateRecorder<'a> {
    duplicates: &'a RefCell<Vec<String>>,
    path: &'a RefCell<String>,
    /// The maximum number of nesting levels of the value.
    levels: usize,
}

impl DuplicateRecorder<'_> {
    fn note(self, name: &str) {
        let path = self.path.borrow();
        let dot = if path.is_empty() { "" } else { "." };
        let text = format!("duplicate field \"{path}{dot}{name}\"");
        let mut duplicates = self.duplicates.borrow_mut();
        if !duplicates.contains(&text) {
            duplicates.push(text);
        }
    }

    /// Returns the seed for the elements of a list or map.
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        let levels = levels.ok_or_else(|| E::custom(TOO_DEEP))?;
        Ok(Self { levels, ..self })
    }

    /// Appends a step to the path. Returns the previous length, to which the caller truncates the path.
    fn descend(self, step: fmt::Arguments<'_>) -> usize {
        let mut path = self.path.borrow_mut();
        let length = path.len();
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut *path, step);
        length
    }
}

impl<'de> DeserializeSeed<'de> for DuplicateRecorder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateRecorder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut items = Vec::new();
        loop {
            let length = self.descend(format_args!("[{}]", items.len()));
            let item = list.next_element_seed(inner);
            self.path.borrow_mut().truncate(length);
            match item? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if map.contains_key(&name) {
                self.note(&name);
            }
            let dot = if self.path.borrow().is_empty() {
                ""
            } else {
                "."
            };
            let length = self.descend(format_args!("{dot}{name}"));
            let value = entries.next_value_seed(inner);
            self.path.borrow_mut().truncate(length);
            map.insert(name, value?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests;
