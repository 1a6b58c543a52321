//! Validates a value against a schema.
//!
//! The messages and their precedence are those of go-openapi as the real server uses it, including its
//! quirks: if several checks of a string fail, only the first failure is reported. For `anyOf`, the failures
//! of the alternative that passed the most checks (`matches`) are reported.

mod number;
mod outcome;
mod path;

use serde_json::{Map, Value};

use super::correlation::Correlation;
use super::format::Format;
use super::structural::{Additional, Checks, Structural};
use super::text;
use crate::error::FieldError;
use outcome::{Failure, Outcome};
use path::Path;

/// Returns the errors of a value. `root` is the prefix of all paths: `status` for the status subresource.
/// With an old value, tolerates errors of unchanged values (KEP-4008).
pub(super) fn errors(
    value: &Value,
    old: Option<&Value>,
    schema: &Structural,
    root: &str,
) -> Vec<FieldError> {
    let correlation = old.map(|old| Correlation::new(value, old, schema));
    let outcome = ratchet(value, schema, &Path::Root, correlation);
    outcome
        .failures
        .into_iter()
        .map(|it| it.error(root))
        .collect()
}

/// Checks a value, and tolerates failures if it did not change.
fn ratchet(
    value: &Value,
    schema: &Structural,
    path: &Path<'_>,
    correlation: Option<Correlation<'_>>,
) -> Outcome {
    let mut outcome = check(value, schema, path, correlation);
    if !outcome.is_valid() && correlation.is_some_and(Correlation::is_unchanged) {
        outcome.failures.clear();
    }
    outcome
}

fn check(
    value: &Value,
    schema: &Structural,
    path: &Path<'_>,
    correlation: Option<Correlation<'_>>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let checks = &schema.checks;
    if value.is_null() {
        if !schema.types().is_empty() && !schema.nullable {
            outcome.add(Failure::wrong_type(path, &schema.types().join(","), "null"));
        }
        enumeration(value, checks, path, &mut outcome);
        return outcome;
    }
    if !schema.types().is_empty() || checks.format.is_some() {
        outcome.merge(kind(value, schema, path));
        outcome.matches += 1;
    }
    if has_junctors(checks) {
        outcome.merge(junctors(value, checks, path, correlation));
    }
    outcome.matches += 2;
    match value {
        Value::String(text) => {
            strings(text, checks, path, &mut outcome);
            outcome.matches += 1 + usize::from(checks.format.is_some());
        }
        Value::Number(number) => {
            outcome.merge(number::check(number, schema, path));
            outcome.matches += 1;
        }
        Value::Array(items) => {
            outcome.merge(array(items, schema, path, correlation));
            outcome.matches += 1;
        }
        _ => {}
    }
    enumeration(value, checks, path, &mut outcome);
    outcome.matches += 1;
    if let Value::Object(fields) = value {
        outcome.merge(object(fields, schema, path, correlation));
        outcome.matches += 1;
    }
    outcome.matches += 1;
    outcome
}

/// Checks the type, and the format if it implies a type.
fn kind(value: &Value, schema: &Structural, path: &Path<'_>) -> Outcome {
    let types = schema.types();
    let actual = text::type_of(value);
    let numeric = types.contains(&"number") || types.contains(&"integer");
    let fits = types.contains(&actual)
        || (actual == "number" && types.contains(&"integer") && number::is_integral(value))
        || (actual == "integer" && types.contains(&"number"));
    let is_text = matches!(value, Value::String(_) | Value::Array(_));
    if let Some((format, _)) = &schema.checks.format {
        let format_of_value = match actual {
            "integer" => "int64",
            "number" => "float64",
            _ => "",
        };
        if !is_text && !fits && format != format_of_value {
            return Failure::wrong_type(path, format, format_of_value).into();
        }
        if !numeric && is_text {
            return Outcome::matched(1);
        }
    }
    if fits {
        Outcome::matched(1)
    } else {
        Failure::wrong_type(path, &types.join(","), actual).into()
    }
}

fn strings(value: &str, checks: &Checks, path: &Path<'_>, outcome: &mut Outcome) {
    if let Some(failure) = string(value, checks, path) {
        outcome.add(failure);
    }
    if let Some((name, Format::Text(is))) = &checks.format
        && !is(value)
    {
        outcome.add(Failure::wrong_type(path, name, value));
    }
}

/// Returns the failure of the first check that fails.
fn string(value: &str, checks: &Checks, path: &Path<'_>) -> Option<Failure> {
    let length = || i64::try_from(value.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = checks.max_length
        && length() > most
    {
        return Some(Failure::too_long(path, most));
    }
    if let Some(least) = checks.min_length
        && length() < least
    {
        let why = format!("should be at least {least} chars long");
        return Some(Failure::invalid(path, value, &why));
    }
    let pattern = checks.pattern.as_ref()?;
    let matches = pattern.parsed.as_ref().map(|it| it.is_match(value));
    match matches {
        Some(Ok(true)) => None,
        Some(Ok(false)) | None => {
            let why = format!("should match '{}'", pattern.text);
            Some(Failure::invalid(path, value, &why))
        }
        Some(Err(error)) => {
            let why = format!("should match '{}', but {error}", pattern.text);
            Some(Failure::invalid(path, value, &why))
        }
    }
}

fn enumeration(value: &Value, checks: &Checks, path: &Path<'_>, outcome: &mut Outcome) {
    if !checks.values.is_empty() && !checks.values.iter().any(|one| number::same(value, one)) {
        outcome.add(Failure::not_supported(path, value, &checks.values));
    }
}

fn array(
    items: &[Value],
    schema: &Structural,
    path: &Path<'_>,
    correlation: Option<Correlation<'_>>,
) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(schema) = &schema.items {
        let old = correlation.and_then(Correlation::items);
        for (index, item) in items.iter().enumerate() {
            let path = Path::Index(path, index);
            let below = correlation.and_then(|it| it.item(index, old.as_ref()?));
            outcome.merge(ratchet(item, schema, &path, below));
        }
    }
    let checks = &schema.checks;
    let bounds = (checks.min_items, checks.max_items);
    size(items.len(), bounds, "items", path, &mut outcome);
    if checks.unique_items && (1..items.len()).any(|at| items[..at].contains(&items[at])) {
        outcome.add(Failure::invalid(path, "", "shouldn't contain duplicates"));
    }
    outcome.matches += 1;
    outcome
}

fn object(
    fields: &Map<String, Value>,
    schema: &Structural,
    path: &Path<'_>,
    correlation: Option<Correlation<'_>>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let checks = &schema.checks;
    let bounds = (checks.min_properties, checks.max_properties);
    size(fields.len(), bounds, "properties", path, &mut outcome);
    for (key, value) in fields {
        let (below, path) = match (schema.properties.get(key), &schema.additional) {
            (Some(property), _) => (property, Path::Property(path, key)),
            (None, Additional::Schema(schema)) => (schema.as_ref(), Path::Key(path, key)),
            (None, Additional::Allowed(false)) => {
                outcome.add(Failure::forbidden_property(path, key));
                continue;
            }
            (None, _) => continue,
        };
        // apiVersion and kind never differ between the old and the new object, so they are always checked.
        let of_type = matches!(path, Path::Property(Path::Root, "apiVersion" | "kind"));
        let old = correlation.filter(|_| !of_type).and_then(|it| it.key(key));
        outcome.merge(ratchet(value, below, &path, old));
    }
    for key in &checks.required {
        if !fields.contains_key(key) {
            outcome.add(Failure::required(&Path::Key(path, key)));
        }
    }
    outcome
}

/// Checks the number of items or properties.
fn size(
    size: usize,
    (least, most): (Option<i64>, Option<i64>),
    unit: &str,
    path: &Path<'_>,
    outcome: &mut Outcome,
) {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    if let Some(least) = least.filter(|least| size < *least) {
        let why = format!("should have at least {least} {unit}");
        outcome.add(Failure::invalid(path, size, &why));
    }
    if let Some(most) = most.filter(|most| size > *most) {
        outcome.add(Failure::too_many(path, size, most));
    }
}

fn has_junctors(checks: &Checks) -> bool {
    !checks.all_of.is_empty()
        || !checks.any_of.is_empty()
        || !checks.one_of.is_empty()
        || checks.not.is_some()
}

fn junctors(
    value: &Value,
    checks: &Checks,
    path: &Path<'_>,
    correlation: Option<Correlation<'_>>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let run = |schema: &Structural| check(value, schema, path, correlation);
    any_of(&checks.any_of, path, run, &mut outcome);
    one_of(&checks.one_of, path, run, &mut outcome);
    all_of(&checks.all_of, path, run, &mut outcome);
    if let Some(not) = &checks.not
        && run(not).is_valid()
    {
        outcome.add(Failure::composite(
            path,
            "must not validate the schema (not)",
        ));
    }
    outcome
}

/// Keeps the alternative that passed more checks.
fn further(best: &mut Option<Outcome>, one: Outcome) {
    if best.as_ref().is_none_or(|best| one.matches > best.matches) {
        *best = Some(one);
    }
}

fn any_of(
    schemas: &[Structural],
    path: &Path<'_>,
    run: impl Fn(&Structural) -> Outcome,
    outcome: &mut Outcome,
) {
    let mut best: Option<Outcome> = None;
    for schema in schemas {
        let one = run(schema);
        if one.is_valid() {
            outcome.merge(one);
            return;
        }
        further(&mut best, one);
    }
    if let Some(best) = best {
        outcome.add(Failure::composite(
            path,
            "must validate at least one schema (anyOf)",
        ));
        outcome.merge(best);
    }
}

fn one_of(
    schemas: &[Structural],
    path: &Path<'_>,
    run: impl Fn(&Structural) -> Outcome,
    outcome: &mut Outcome,
) {
    if schemas.is_empty() {
        return;
    }
    let (mut valid, mut best, mut first) = (0, None::<Outcome>, None);
    for schema in schemas {
        let one = run(schema);
        if one.is_valid() {
            valid += 1;
            best = None;
            first.get_or_insert(one);
        } else if valid == 0 {
            further(&mut best, one);
        }
    }
    if valid == 1 {
        outcome.merge(first.unwrap_or_default());
        return;
    }
    let found = match valid {
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    let why = format!("must validate one and only one schema (oneOf). {found}");
    outcome.add(Failure::composite(path, &why));
    outcome.merge(best.unwrap_or_default());
}

fn all_of(
    schemas: &[Structural],
    path: &Path<'_>,
    run: impl Fn(&Structural) -> Outcome,
    outcome: &mut Outcome,
) {
    let mut valid = 0;
    for schema in schemas {
        let one = run(schema);
        valid += usize::from(one.is_valid());
        outcome.merge(one);
    }
    if valid != schemas.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        let why = format!("must validate all the schemas (allOf){none}");
        outcome.add(Failure::composite(path, &why));
    }
}
