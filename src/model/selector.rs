//! Label selectors, which select objects of a list by their labels.
//!
//! Caches match them locally, and requests contain them as text. Both follow the semantics of the server:
//! `!=` and `notin` also select objects without the label.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// A valid label selector (`metav1.LabelSelector`). Without requirements it selects all objects.
///
/// It displays in the format of the server's `labelSelector` parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    /// The label's name.
    pub key: String,
    /// The comparison of its value.
    pub operator: Operator,
    /// The values that the operator compares with.
    pub values: Vec<String>,
}

/// The comparison of a [`Requirement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has another value.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a larger integer than the value.
    GreaterThan,
    /// The label is a smaller integer than the value.
    LessThan,
}

impl Operator {
    /// The operators of `metav1.LabelSelector`, by name.
    pub const NAMES: [(&str, Self); 4] = [
        ("In", Self::In),
        ("NotIn", Self::NotIn),
        ("Exists", Self::Exists),
        ("DoesNotExist", Self::DoesNotExist),
    ];
}

impl LabelSelector {
    /// Creates a selector from requirements, which must all be true.
    pub fn new(requirements: Vec<Requirement>) -> Self {
        Self { requirements }
    }

    /// Selects all objects with the label.
    pub fn exists(key: &str) -> Self {
        Self::new(vec![Requirement::new(key, Operator::Exists, [])])
    }

    /// Converts a `LabelSelector` object (`matchLabels`, `matchExpressions`) or a plain map of labels.
    pub fn from_value(value: &Value) -> Result<Self, InvalidSelector> {
        let Value::Object(map) = value else {
            return Err(InvalidSelector(format!(
                "a label selector is a map, not {value}"
            )));
        };
        let structured = map
            .keys()
            .all(|k| k == "matchLabels" || k == "matchExpressions");
        if !structured {
            return Ok(Self::new(equalities(map)?));
        }
        let mut requirements = match map.get("matchLabels") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(labels)) => equalities(labels)?,
            Some(other) => {
                return Err(InvalidSelector(format!(
                    "matchLabels is a map, not {other}"
                )));
            }
        };
        match map.get("matchExpressions") {
            None | Some(Value::Null) => {}
            Some(Value::Array(expressions)) => {
                for expression in expressions {
                    requirements.push(parse_expression(expression)?);
                }
            }
            Some(other) => {
                return Err(InvalidSelector(format!(
                    "matchExpressions is a list, not {other}"
                )));
            }
        }
        Ok(Self::new(requirements))
    }

    /// Adds a requirement.
    #[must_use]
    pub fn and(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }

    /// Returns selectors that together select all objects that this selector does not. They select no
    /// object of this selector, except that comparisons of numbers have no opposite.
    pub fn negations(&self) -> Vec<Self> {
        let opposite = |requirement: &Requirement| {
            let operator = match requirement.operator {
                Operator::In => Operator::NotIn,
                Operator::NotIn => Operator::In,
                Operator::Exists => Operator::DoesNotExist,
                Operator::DoesNotExist => Operator::Exists,
                Operator::GreaterThan | Operator::LessThan => return Self::default(),
            };
            Self::new(vec![Requirement {
                operator,
                ..requirement.clone()
            }])
        };
        self.requirements.iter().map(opposite).collect()
    }

    /// Returns whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns whether the labels match. `label` returns the value of a label.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            let listed = || value.is_some_and(|v| requirement.values.iter().any(|one| one == v));
            match requirement.operator {
                Operator::In => listed(),
                Operator::NotIn => !listed(),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::GreaterThan => requirement.compares(value, |have, bound| have > bound),
                Operator::LessThan => requirement.compares(value, |have, bound| have < bound),
            }
        })
    }
}

impl Requirement {
    /// Creates a requirement.
    pub fn new<'a>(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            key: key.to_owned(),
            operator,
            values: values.into_iter().map(str::to_owned).collect(),
        }
    }

    fn compares(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|v| v.parse().ok());
        match (value.and_then(|v| v.parse().ok()), bound) {
            (Some(have), Some(bound)) => holds(have, bound),
            _ => false,
        }
    }
}

/// The reason that a value is not a selector, in lower case and without a period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSelector(pub(super) String);

fn equalities(labels: &Map<String, Value>) -> Result<Vec<Requirement>, InvalidSelector> {
    let equality = |(key, value): (&String, &Value)| match value {
        Value::String(value) => check_requirement(key, Operator::In, vec![value.clone()]),
        other => Err(InvalidSelector(format!(
            "label {key} is a string, not {other}"
        ))),
    };
    labels.iter().map(equality).collect()
}

fn parse_expression(expression: &Value) -> Result<Requirement, InvalidSelector> {
    let key = expression["key"].as_str().unwrap_or_default();
    let name = expression["operator"].as_str().unwrap_or_default();
    let Some((_, operator)) = Operator::NAMES.iter().find(|(n, _)| *n == name) else {
        let names = Operator::NAMES.map(|(name, _)| name).join(", ");
        return Err(InvalidSelector(format!(
            "operator {name:?} is not one of {names}"
        )));
    };
    let values = expression["values"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let values: Option<Vec<_>> = values
        .iter()
        .map(|v| v.as_str().map(str::to_owned))
        .collect();
    let values =
        values.ok_or_else(|| InvalidSelector(format!("values of label {key} are strings")))?;
    check_requirement(key, *operator, values)
}

/// Returns a requirement that the server accepts.
fn check_requirement(
    key: &str,
    operator: Operator,
    values: Vec<String>,
) -> Result<Requirement, InvalidSelector> {
    check_key(key)?;
    let (enough, expected) = match operator {
        Operator::In | Operator::NotIn => (!values.is_empty(), "at least one value"),
        Operator::Exists | Operator::DoesNotExist => (values.is_empty(), "no values"),
        Operator::GreaterThan | Operator::LessThan => (
            values.len() == 1 && values[0].parse::<i64>().is_ok(),
            "one integer",
        ),
    };
    if !enough {
        return Err(InvalidSelector(format!(
            "label {key}: {operator:?} takes {expected}"
        )));
    }
    values
        .iter()
        .try_for_each(|value| check_word(value, "label value"))?;
    Ok(Requirement {
        key: key.to_owned(),
        operator,
        values,
    })
}

fn check_key(key: &str) -> Result<(), InvalidSelector> {
    let (prefix, name) = key.rsplit_once('/').map_or(("a", key), |(p, n)| (p, n));
    let dns = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    if name.is_empty() || prefix.is_empty() || prefix.len() > 253 || !prefix.chars().all(dns) {
        return Err(InvalidSelector(format!("{key:?} is not a label name")));
    }
    check_word(name, "label name")
}

/// Returns whether a text is a label value: at most 63 letters, digits, `-`, `_` and `.`, with a letter or
/// digit at both ends; or empty.
fn check_word(word: &str, what: &str) -> Result<(), InvalidSelector> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let ends = [word.chars().next(), word.chars().next_back()];
    let ends = ends
        .into_iter()
        .flatten()
        .all(|c| c.is_ascii_alphanumeric());
    if word.len() > 63 || !word.chars().all(inner) || !ends {
        return Err(InvalidSelector(format!("{word:?} is not a {what}")));
    }
    Ok(())
}

/// Parses the syntax of kubectl: `app=web,tier in (a,b),env!=test,owner,!legacy,size>3`.
impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        split_outside_parentheses(text)
            .map(parse_requirement)
            .collect::<Result<_, _>>()
            .map(Self::new)
    }
}

fn split_outside_parentheses(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn parse_requirement(text: &str) -> Result<Requirement, InvalidSelector> {
    // Longer operators come first, so that `==` and `!=` are not parsed as `=`.
    const SIGNS: [(&str, Operator); 5] = [
        ("==", Operator::In),
        ("!=", Operator::NotIn),
        ("=", Operator::In),
        (">", Operator::GreaterThan),
        ("<", Operator::LessThan),
    ];
    let text = text.trim();
    if let Some(key) = text.strip_prefix('!') {
        return check_requirement(key.trim(), Operator::DoesNotExist, Vec::new());
    }
    if let Some((head, list)) = text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        let values = list.split(',').map(|v| v.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => check_requirement(key, Operator::In, values),
            (Some(key), Some("notin"), None) => check_requirement(key, Operator::NotIn, values),
            _ => Err(InvalidSelector(format!(
                "{text:?} is neither `key in (…)` nor `key notin (…)`"
            ))),
        };
    }
    let sign = SIGNS.iter().find_map(|(sign, operator)| {
        let (key, value) = text.split_once(sign)?;
        Some((key.trim(), *operator, value.trim()))
    });
    match sign {
        Some((key, operator, value)) => check_requirement(key, operator, vec![value.to_owned()]),
        None => check_requirement(text, Operator::Exists, Vec::new()),
    }
}

/// `app=web,tier in (a,b),!legacy`
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            let Requirement {
                key,
                operator,
                values,
            } = requirement;
            match (operator, values.as_slice()) {
                (Operator::In, [value]) => write!(f, "{key}={value}")?,
                (Operator::In, values) => write!(f, "{key} in ({})", values.join(","))?,
                (Operator::NotIn, values) => write!(f, "{key} notin ({})", values.join(","))?,
                (Operator::Exists, _) => f.write_str(key)?,
                (Operator::DoesNotExist, _) => write!(f, "!{key}")?,
                (Operator::GreaterThan, values) => write!(f, "{key}>{}", values.join(","))?,
                (Operator::LessThan, values) => write!(f, "{key}<{}", values.join(","))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn selector() -> LabelSelector {
        let requirement = |key: &str, operator, values: &[&str]| Requirement {
            key: key.to_owned(),
            operator,
            values: values.iter().map(ToString::to_string).collect(),
        };
        LabelSelector::new(vec![
            requirement("app", Operator::In, &["web"]),
            requirement("tier", Operator::In, &["a", "b"]),
            requirement("env", Operator::NotIn, &["test"]),
            requirement("owner", Operator::Exists, &[]),
            requirement("legacy", Operator::DoesNotExist, &[]),
        ])
    }

    #[test]
    fn the_text_is_a_valid_query_parameter() {
        assert_eq!(
            selector().to_string(),
            "app=web,tier in (a,b),env notin (test),owner,!legacy"
        );
    }

    #[test]
    fn every_requirement_counts() {
        let fits = |labels: &[(&str, &'static str)]| {
            selector().matches(|name| labels.iter().find(|(k, _)| *k == name).map(|(_, v)| *v))
        };
        assert!(fits(&[("app", "web"), ("tier", "b"), ("owner", "me")]));
        assert!(!fits(&[("app", "db"), ("tier", "b"), ("owner", "me")]));
        assert!(!fits(&[("app", "web"), ("tier", "c"), ("owner", "me")]));
        assert!(!fits(&[("app", "web"), ("tier", "a")]));
        let labels = [
            ("app", "web"),
            ("tier", "a"),
            ("owner", "me"),
            ("legacy", ""),
        ];
        assert!(!fits(&labels));
        let labels = [
            ("app", "web"),
            ("tier", "a"),
            ("owner", "me"),
            ("env", "test"),
        ];
        assert!(!fits(&labels));
        assert!(LabelSelector::default().matches(|_| None));
    }

    fn parse(text: &str) -> Result<LabelSelector, InvalidSelector> {
        text.parse()
    }

    #[test]
    fn a_text_of_kubectl_is_read() {
        let text = " app == web, tier in (b, a) ,env notin(test),owner,! legacy,a/b!=c,size>3";
        let text_of_ours =
            "app=web,tier in (b,a),env notin (test),owner,!legacy,a/b notin (c),size>3";
        assert_eq!(parse(text).unwrap().to_string(), text_of_ours);
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn selectors_that_the_server_refuses_are_refused() {
        for text in [
            "a=b c",
            "a in ()x",
            "a within (b)",
            "=b",
            "a,,b",
            "!",
            "a b",
            "a>x",
            "-a",
            "/a",
            "a/",
            "A/b=c",
            "a=ä",
            "a in (b",
            "a=b=c",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"a".repeat(64)).is_err());
    }

    #[test]
    fn an_empty_value_is_a_value() {
        let selector = parse("a=,b in ()").unwrap();
        assert!(selector.matches(|_| Some("")));
        assert!(!selector.matches(|_| None));
    }

    #[test]
    fn an_object_is_read() {
        let selector = LabelSelector::from_value(&json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        }));
        assert_eq!(selector.unwrap().to_string(), "app=web,tier in (a,b)");
        let plain = LabelSelector::from_value(&json!({"app": "web"})).unwrap();
        assert_eq!(plain, "app=web".parse().unwrap());
        for wrong in [
            json!(7),
            json!({"app": 7}),
            json!({"matchLabels": []}),
            json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
        ] {
            assert!(LabelSelector::from_value(&wrong).is_err(), "{wrong}");
        }
    }

    fn requirements() -> impl Strategy<Value = Requirement> {
        let values = || proptest::collection::vec("[a-z0-9]{0,3}", 1..4);
        let of = |key: String, operator, values| Requirement {
            key,
            operator,
            values,
        };
        ("[a-c]", 0..6u8, values(), any::<i8>()).prop_map(move |(key, kind, values, bound)| {
            match kind {
                0 => of(key, Operator::In, values),
                1 => of(key, Operator::NotIn, values),
                2 => of(key, Operator::Exists, Vec::new()),
                3 => of(key, Operator::DoesNotExist, Vec::new()),
                4 => of(
                    key,
                    Operator::GreaterThan,
                    vec![bound.unsigned_abs().to_string()],
                ),
                _ => of(
                    key,
                    Operator::LessThan,
                    vec![bound.unsigned_abs().to_string()],
                ),
            }
        })
    }

    proptest! {
        #[test]
        fn a_selector_survives_its_text(list in proptest::collection::vec(requirements(), 0..5)) {
            let selector = LabelSelector::new(list);
            prop_assert_eq!(parse(&selector.to_string()).unwrap(), selector);
        }

        #[test]
        fn an_unselected_object_matches_the_negated_selector(
            list in proptest::collection::vec(requirements(), 0..4),
            labels in proptest::collection::btree_map("[a-c]", "[a-z0-9]{0,2}", 0..3),
        ) {
            let selector = LabelSelector::new(list);
            let label = |key: &str| labels.get(key).map(String::as_str);
            let opposites = selector.negations();
            let met = opposites.iter().any(|opposite| opposite.matches(label));
            prop_assert!(selector.matches(label) || met);
            let exact = opposites.iter().all(|opposite| !opposite.is_empty());
            prop_assert!(!(exact && selector.matches(label) && met));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
