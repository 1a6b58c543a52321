//! The JSONPath dialect of kubectl, as far as it selects values in an object.
//!
//! <https://kubernetes.io/docs/reference/kubectl/jsonpath/>
//! It does not support `range`, text around a path, or more than one filter expression.

use std::cmp::Ordering;

use serde_json::Value;

/// A path such as `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// `.name`, `['name']`, `['a','b']`
    Fields(Vec<String>),
    /// `.*`, `[*]`
    All,
    /// `[0]`, `[-1]`, `[0,2]`
    Items(Vec<i64>),
    /// `[1:3]`, `[::2]`
    Slice {
        from: i64,
        to: Option<i64>,
        step: i64,
    },
    /// `[?(@.a=="b")]`
    Filter(Box<Filter>),
    /// `..`
    Descend,
}

#[derive(Debug, Clone, PartialEq)]
enum Filter {
    Exists(JsonPath),
    Compare(Operand, Comparison, Operand),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The comparison operators. `<=` comes before its prefix `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl JsonPath {
    /// Parses a path. Returns nothing for an invalid path.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            rest = match rest.strip_prefix('[') {
                Some(inside) => {
                    let end = closing(inside)?;
                    steps.push(bracket(inside[..end].trim())?);
                    &inside[end + 1..]
                }
                None => dotted(rest, &mut steps)?,
            };
        }
        Some(Self(steps))
    }

    /// Returns the values that the path selects, in order. Skips missing fields.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found
                .into_iter()
                .flat_map(|value| step.find(value))
                .collect();
        }
        found
    }
}

/// Returns the position of the bracket that closes the one before `text`.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, it) in text.char_indices() {
        match (quote, it) {
            (Some(open), it) if it == open => quote = None,
            (None, '\'' | '"') => quote = Some(it),
            (None, '[' | '(') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Parses `.name`, `.*` or `..`. A backslash escapes the next character.
fn dotted<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix("..") {
        steps.push(Step::Descend);
        return if rest.starts_with('[') {
            Some(rest)
        } else {
            name(rest, steps)
        };
    }
    let rest = text.strip_prefix('.').unwrap_or(text);
    if rest.is_empty() {
        // A dot at the end selects nothing.
        steps.push(Step::Fields(vec![String::new()]));
        return Some(rest);
    }
    name(rest, steps)
}

fn name<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix('*') {
        steps.push(Step::All);
        return Some(rest);
    }
    let (mut name, mut escaped, mut end) = (String::new(), false, text.len());
    for (at, it) in text.char_indices() {
        match it {
            _ if escaped => escaped = false,
            '\\' => {
                escaped = true;
                continue;
            }
            '.' | '[' => {
                end = at;
                break;
            }
            ']' | '{' | '}' => return None,
            _ => {}
        }
        name.push(it);
    }
    if name.is_empty() {
        return None;
    }
    steps.push(Step::Fields(vec![name]));
    Some(&text[end..])
}

fn bracket(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|it| it.strip_suffix(')')) {
        // A filter that is not a comparison is not an error. It selects nothing.
        return Some(match Filter::parse(filter) {
            Some(filter) => Step::Filter(Box::new(filter)),
            None => Step::Items(Vec::new()),
        });
    }
    if text.starts_with(['\'', '"']) {
        let names = text
            .split(',')
            .map(|one| unquoted(one.trim()).map(str::to_owned));
        return names.collect::<Option<_>>().map(Step::Fields);
    }
    if text.contains(':') {
        let mut parts = text.split(':').map(|part| match part.trim() {
            "" => Some(None),
            number => number.parse::<i64>().ok().map(Some),
        });
        let from = parts.next()??.unwrap_or(0);
        let to = parts.next()??;
        let step = parts.next().map_or(Some(Some(1)), |it| it)?.unwrap_or(1);
        return (step > 0).then_some(Step::Slice { from, to, step });
    }
    let indices = text.split(',').map(|one| one.trim().parse().ok());
    indices.collect::<Option<_>>().map(Step::Items)
}

fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    text.strip_prefix(quote)?.strip_suffix(quote)
}

impl Filter {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        for (sign, comparison) in COMPARISONS {
            if let Some((left, right)) = text.split_once(sign) {
                let (left, right) = (Operand::parse(left)?, Operand::parse(right)?);
                return Some(Self::Compare(left, comparison, right));
            }
        }
        JsonPath::parse(text.strip_prefix('@')?).map(Self::Exists)
    }

    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Exists(path) => !path.find(value).is_empty(),
            Self::Compare(left, comparison, right) => match (left.value(value), right.value(value))
            {
                (Some(left), Some(right)) => comparison.holds(left, right),
                _ => false,
            },
        }
    }
}

impl Operand {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix('@') {
            return JsonPath::parse(path).map(Self::Path);
        }
        let literal = match unquoted(text) {
            Some(text) => Value::String(text.to_owned()),
            None => serde_json::from_str(text).ok()?,
        };
        Some(Self::Literal(literal))
    }

    fn value<'a>(&'a self, of: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(path) => path.find(of).first().copied(),
            Self::Literal(value) => Some(value),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().partial_cmp(&right.as_f64())
            }
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (left, right) => (left == right).then_some(Ordering::Equal),
        };
        match (self, order) {
            (Self::NotEqual, order) => order != Some(Ordering::Equal),
            (_, None) => false,
            (Self::Equal, Some(order)) => order.is_eq(),
            (Self::Less, Some(order)) => order.is_lt(),
            (Self::LessOrEqual, Some(order)) => order.is_le(),
            (Self::Greater, Some(order)) => order.is_gt(),
            (Self::GreaterOrEqual, Some(order)) => order.is_ge(),
        }
    }
}

impl Step {
    fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Fields(names), Value::Object(fields)) => {
                names.iter().filter_map(|name| fields.get(name)).collect()
            }
            (Self::All, Value::Object(fields)) => fields.values().collect(),
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::Items(indices), Value::Array(items)) => {
                let item = |index: &i64| items.get(position(*index, items.len())?);
                indices.iter().filter_map(item).collect()
            }
            (Self::Slice { from, to, step }, Value::Array(items)) => {
                slice(items, *from, *to, *step)
            }
            (Self::Filter(filter), Value::Array(items)) => {
                items.iter().filter(|item| filter.holds(item)).collect()
            }
            (Self::Descend, value) => descendants(value),
            _ => Vec::new(),
        }
    }
}

/// Returns the position of an index. Negative indexes count from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}

fn slice(items: &[Value], from: i64, to: Option<i64>, step: i64) -> Vec<&Value> {
    let end = to.map_or(Some(items.len()), |to| position(to, items.len()));
    let (Some(start), Some(end), Ok(step)) =
        (position(from, items.len()), end, usize::try_from(step))
    else {
        return Vec::new();
    };
    items
        .get(start..end)
        .into_iter()
        .flatten()
        .step_by(step.max(1))
        .collect()
}

fn descendants(value: &Value) -> Vec<&Value> {
    let mut all = vec![value];
    match value {
        Value::Object(fields) => fields.values().for_each(|it| all.extend(descendants(it))),
        Value::Array(items) => items.iter().for_each(|it| all.extend(descendants(it))),
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(path: &str) -> Vec<Value> {
        let object = json!({
            "spec": {"a": 1, "a.b/c": "x", "list": [1, 2, 3]},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "n": 1},
                {"type": "Other", "status": "False", "n": 2},
            ]},
        });
        let found = JsonPath::parse(path).map(|it| it.find(&object).into_iter().cloned().collect());
        found.unwrap_or_else(|| vec![json!("unparsed")])
    }

    #[test]
    fn paths_find_what_they_name() {
        assert_eq!(find(".spec.a"), [json!(1)]);
        assert_eq!(find(".spec['a']"), [json!(1)]);
        assert_eq!(find("$.spec.a"), [json!(1)]);
        assert_eq!(find(r".spec.a\.b/c"), [json!("x")]);
        assert_eq!(find(".spec['a.b/c']"), [json!("x")]);
        assert_eq!(find(".spec.list[0]"), [json!(1)]);
        assert_eq!(find(".spec.list[-1]"), [json!(3)]);
        assert_eq!(find(".spec.list[0,2]"), [json!(1), json!(3)]);
        assert_eq!(find(".spec.list[1:]"), [json!(2), json!(3)]);
        assert_eq!(find(".spec.list[*]"), [json!(1), json!(2), json!(3)]);
        assert_eq!(
            find(".status.conditions[?(@.type==\"Ready\")].status"),
            [json!("True")]
        );
        assert_eq!(
            find(".status.conditions[?(@.type == 'Other')].status"),
            [json!("False")]
        );
        assert_eq!(find(".status.conditions[?(@.n > 1)].n"), [json!(2)]);
        assert_eq!(find(".status.conditions[?(@.n)].n"), [json!(1), json!(2)]);
        assert_eq!(find("..type"), [json!("Ready"), json!("Other")]);
    }

    #[test]
    fn absent_values_are_nowhere() {
        assert!(find(".spec.zz.a").is_empty());
        assert!(find(".spec.list[7]").is_empty());
        assert!(find(".spec.a.b").is_empty());
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in [".spec[", ".spec[?(x)", ".a]", ".spec[a]"] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }
}
