//! Checks numbers, and compares them with the values of enumerations.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::outcome::{Failure, Outcome};
use super::path::Path;
use crate::crd::format::Format;
use crate::crd::structural::{NumberBound, Structural};
use crate::go;

/// The largest safe integer of JSON. A larger float does not count as an integer.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// Checks the range of the format, then `multipleOf`, `minimum` and `maximum`. A limit outside the range of
/// the type is itself a failure, and then the comparison uses floats.
pub(super) fn check(number: &Number, schema: &Structural, path: &Path<'_>) -> Outcome {
    let mut outcome = Outcome::matched(1);
    let mut fits = |number: &Number, what: &str| match out_of_range(number, what, schema, path) {
        Some(failure) => {
            outcome.add(failure);
            false
        }
        None => true,
    };
    let mut failures = Vec::new();
    fits(number, "Checked");
    let checks = &schema.checks;
    if let Some(factor) = checks.multiple_of {
        let number = as_limit(number, fits(&limit(factor), "MultipleOf"));
        failures.extend(not_multiple(&number, factor, path));
    }
    for (bound, is_minimum) in [(checks.minimum, true), (checks.maximum, false)] {
        if let Some(bound) = bound {
            let what = if is_minimum {
                "Minimum boundary"
            } else {
                "Maximum boundary"
            };
            let number = as_limit(number, fits(&limit(bound.value), what));
            failures.extend(beyond(&number, bound, is_minimum, path));
        }
    }
    for failure in failures {
        outcome.add(failure);
    }
    outcome
}

fn limit(value: f64) -> Number {
    Number::from_f64(value).unwrap_or_else(|| 0.into())
}

fn as_limit(number: &Number, fits: bool) -> Cow<'_, Number> {
    match number.as_f64() {
        Some(float) if !fits => Cow::Owned(limit(float)),
        _ => Cow::Borrowed(number),
    }
}

/// Returns the failure if a number is outside the range of its type and format.
fn out_of_range(
    number: &Number,
    what: &str,
    schema: &Structural,
    path: &Path<'_>,
) -> Option<Failure> {
    let [kind @ ("integer" | "number")] = schema.types() else {
        return None;
    };
    let format = schema.checks.format.as_ref();
    let fits = match (kind, format.map(|(_, format)| format)) {
        (&"integer", Some(Format::Int32)) => {
            whole(number).is_some_and(|it| i32::try_from(it).is_ok())
        }
        (&"integer", _) => whole(number).is_some(),
        (_, Some(Format::Float)) => number
            .as_f64()
            .is_some_and(|it| it.abs() <= f64::from(f32::MAX)),
        _ => true,
    };
    let of = match format {
        Some((name, _)) => format!("{kind} with format {name}"),
        None => format!("{kind} (default format)"),
    };
    (!fits).then(|| Failure::loose(format!("{what} value must be of type {of} in {path}")))
}

/// Returns the value of an integer, or of a float without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(number: &Number) -> Option<i64> {
    let float = || {
        number
            .as_f64()
            .filter(|it| it.fract() == 0.0 && it.abs() < 9.2e18)
    };
    number.as_i64().or_else(|| float().map(|it| it as i64))
}

#[expect(clippy::cast_possible_truncation, reason = "Go converts the factor so")]
fn not_multiple(number: &Number, factor: f64, path: &Path<'_>) -> Option<Failure> {
    let fails = match number.as_i64() {
        Some(_) if (factor as i64) <= 0 => return Some(no_factor(number, factor, path)),
        Some(integer) => integer % (factor as i64) != 0,
        None if factor <= 0.0 => return Some(no_factor(number, factor, path)),
        None => {
            let value = number.as_f64()?;
            let times = if factor < 1.0 {
                1.0 / factor * value
            } else {
                value / factor
            };
            !is_whole(times)
        }
    };
    let shown = if number.is_i64() {
        go::float(factor.trunc())
    } else {
        go::float(factor)
    };
    fails.then(|| {
        Failure::invalid(
            path,
            number.clone(),
            &format!("should be a multiple of {shown}"),
        )
    })
}

fn no_factor(number: &Number, factor: f64, path: &Path<'_>) -> Failure {
    let factor = if number.is_i64() {
        factor.trunc()
    } else {
        factor
    };
    let shown = go::float(factor);
    let value = match shown.parse::<i64>() {
        Ok(whole) => Value::from(whole),
        Err(_) => Value::from(factor),
    };
    let why = format!("factor MultipleOf declared for {path} must be positive: {shown}");
    Failure::at(path, value, why)
}

/// Converts a float to an `int64` like Go: a value out of range becomes the minimum.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn go_integer(float: f64) -> i64 {
    if float.abs() < 9.223_372_036_854_775e18 {
        float as i64
    } else {
        i64::MIN
    }
}

fn beyond(
    number: &Number,
    bound: NumberBound,
    is_minimum: bool,
    path: &Path<'_>,
) -> Option<Failure> {
    let order = match number.as_i64() {
        Some(integer) => integer.cmp(&go_integer(bound.value)),
        None => number.as_f64()?.partial_cmp(&bound.value)?,
    };
    let order = if is_minimum { order } else { order.reverse() };
    let fails = if bound.exclusive {
        order.is_le()
    } else {
        order.is_lt()
    };
    let shown = if number.is_i64() {
        go_integer(bound.value).to_string()
    } else {
        go::float(bound.value)
    };
    let than = match (is_minimum, bound.exclusive) {
        (true, false) => "greater than or equal to",
        (true, true) => "greater than",
        (false, false) => "less than or equal to",
        (false, true) => "less than",
    };
    fails.then(|| Failure::invalid(path, number.clone(), &format!("should be {than} {shown}")))
}

/// Returns whether a float counts as an integer.
pub(super) fn is_integral(value: &Value) -> bool {
    value.as_f64().is_some_and(is_whole)
}

fn is_whole(number: f64) -> bool {
    if !number.is_finite() || number.abs() > SAFE {
        return false;
    }
    let nearest = number.round();
    number.fract() == 0.0
        || (number - nearest).abs() < 1e-9 * number.abs().max(nearest.abs()).max(f64::MIN_POSITIVE)
}

/// Returns whether a value is one of an enumeration: numbers are converted to the type of the listed one,
/// and null is never in it.
#[expect(clippy::cast_possible_truncation, reason = "Go converts so")]
pub(super) fn same(value: &Value, listed: &Value) -> bool {
    match (value, listed) {
        (Value::Number(value), Value::Number(listed)) => match (value.as_i64(), listed.as_i64()) {
            (Some(value), Some(listed)) => value == listed,
            (None, Some(listed)) => value.as_f64().is_some_and(|value| value as i64 == listed),
            _ => value.as_f64() == listed.as_f64(),
        },
        (Value::Null, _) => false,
        _ => value == listed,
    }
}
