//! Printer columns: the columns that `kubectl get` shows for a custom resource.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns>

use jiff::Timestamp;
use serde_json::{Value, json};

use super::jsonpath::JsonPath;
use super::structural::{list, text};
use crate::go;

/// The heading of a column: a `TableColumnDefinition`.
#[derive(Debug, Clone)]
pub struct Heading {
    /// `Ready`
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// A hint for clients, often empty. It is `name` for the column that identifies the row.
    pub format: String,
    /// The meaning of the column's cells.
    pub description: String,
    /// The priority. Clients show columns above 0 only in wide output.
    pub priority: i64,
}

impl Heading {
    /// Returns the `TableColumnDefinition`.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

/// A column, not including that of the name.
#[derive(Debug, Clone)]
pub struct Column {
    /// The heading of the column.
    pub heading: Heading,
    path: JsonPath,
}

/// Returns the columns of a version, up to the first one with an invalid path, like the real server.
pub(super) fn read(version: &Value) -> Vec<Column> {
    let columns: Vec<Value> = list(version, "additionalPrinterColumns").cloned().collect();
    if columns.is_empty() {
        let age = json!({
            "name": "Age",
            "type": "date",
            "description": CREATION_TIMESTAMP,
            "jsonPath": ".metadata.creationTimestamp",
        });
        return Column::read(&age).into_iter().collect();
    }
    columns.iter().map_while(Column::read).collect()
}

const CREATION_TIMESTAMP: &str = "CreationTimestamp is a timestamp representing the server time \
    when this object was created. It is not guaranteed to be set in happens-before order across \
    separate operations. Clients may not set this value. It is represented in RFC3339 form and is \
    in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

impl Column {
    fn read(column: &Value) -> Option<Self> {
        let path = text(column, "jsonPath").unwrap_or_default();
        let described =
            || format!("Custom resource definition column (in JSONPath format): {path}");
        let heading = Heading {
            name: text(column, "name").unwrap_or_default(),
            kind: text(column, "type").unwrap_or_default(),
            format: text(column, "format").unwrap_or_default(),
            description: text(column, "description").unwrap_or_else(described),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
        };
        let path = JsonPath::parse(&path)?;
        Some(Self { heading, path })
    }

    /// Returns the cell for an object, or null if the object has no value of the column's type.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the server cuts floats off so"
    )]
    pub fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let Some(value) = self.path.find(object).first().copied() else {
            return Value::Null;
        };
        match (self.heading.kind.as_str(), value) {
            ("string", Value::Null) => "<no value>".into(),
            ("string", Value::String(_))
            | ("boolean", Value::Bool(_))
            | ("number", Value::Number(_)) => value.clone(),
            ("string", Value::Object(_) | Value::Array(_)) => value.to_string().into(),
            ("string", scalar) => go::plain(scalar).into(),
            ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => number.into(),
                (None, Some(number)) => (number as i64).into(),
                (None, None) => Value::Null,
            },
            ("date", Value::String(time)) => match time.parse::<Timestamp>() {
                Ok(time) => age(now, time).into(),
                Err(_) if time.is_empty() || time == "null" => "<unknown>".into(),
                Err(_) => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}

/// Formats an age like kubectl: with two units if the larger one is small.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let with = |whole: i64, unit: char, rest: i64, smaller: char| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{smaller}"),
    };
    match seconds {
        // A clock skew of one second is tolerated.
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => with(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => with(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => with(hours / 24, 'd', hours % 24, 'h'),
        _ if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        _ if hours < 24 * 365 * 8 => with(hours / 24 / 365, 'y', hours / 24 % 365, 'd'),
        _ => format!("{}y", hours / 24 / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ago(seconds: i64) -> String {
        let then = Timestamp::UNIX_EPOCH;
        age(Timestamp::from_second(seconds).expect("in range"), then)
    }

    #[test]
    fn ages_are_written_as_kubectl_does() {
        let day = 24 * 3600;
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * 3600 - 1, "179m"),
            (3 * 3600 + 60, "3h1m"),
            (9 * 3600, "9h"),
            (2 * day + 3600, "2d1h"),
            (9 * day, "9d"),
            (800 * day, "2y70d"),
            (4000 * day, "10y"),
        ] {
            assert_eq!(ago(seconds), text);
        }
    }

    #[test]
    fn cells_hold_what_the_type_says() {
        let object = json!({"a": 1, "f": 1.9, "s": "x", "o": {"b": 1}, "n": null, "t": "x"});
        let cell = |path: &str, kind: &str| {
            let column = json!({"name": "N", "type": kind, "jsonPath": path});
            let column = Column::read(&column).expect("a path");
            column.cell(&object, Timestamp::UNIX_EPOCH)
        };
        assert_eq!(cell(".a", "integer"), json!(1));
        assert_eq!(cell(".f", "integer"), json!(1));
        assert_eq!(cell(".a", "string"), json!("1"));
        assert_eq!(cell(".o", "string"), json!("{\"b\":1}"));
        assert_eq!(cell(".s", "integer"), Value::Null);
        assert_eq!(cell(".zz", "string"), Value::Null);
        assert_eq!(cell(".t", "date"), json!("<invalid>"));
    }
}
