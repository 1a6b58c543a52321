//! Field selectors, which select objects of a list by their fields.

use std::fmt;
use std::str::FromStr;

use super::selector::InvalidSelector;

/// A field selector: `metadata.name=a,spec.nodeName!=b`. The empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldSelector(Vec<FieldTerm>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct FieldTerm {
    path: Box<str>,
    equal: bool,
    value: Box<str>,
}

impl FieldSelector {
    /// Returns the single name that it selects. RBAC checks it as the resource name of a list.
    pub fn name(&self) -> Option<&str> {
        let mut terms = self.0.iter();
        let name = terms.find(|term| term.equal && &*term.path == "metadata.name")?;
        Some(&*name.value)
    }

    /// Returns whether it selects an object of this namespace and name; `None` if it depends on other
    /// fields.
    pub fn matches(&self, namespace: &str, name: &str) -> Option<bool> {
        let mut all = true;
        for term in &self.0 {
            let have = match &*term.path {
                "metadata.name" => name,
                "metadata.namespace" => namespace,
                _ => return None,
            };
            all &= (have == &*term.value) == term.equal;
        }
        Some(all)
    }
}

fn term(path: &str, equal: bool, value: &str) -> Result<FieldTerm, InvalidSelector> {
    let (path, value) = (path.trim(), value.trim());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    if path.is_empty() || !path.chars().all(plain) {
        return Err(InvalidSelector(format!("{path:?} is not a field path")));
    }
    Ok(FieldTerm {
        path: path.into(),
        equal,
        value: value.into(),
    })
}

/// Parses the syntax of kubectl: a backslash escapes commas, equal signs and backslashes in values.
impl FromStr for FieldSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        split_unescaped(text)
            .into_iter()
            .map(|part| {
                let Some((path, value)) = part.split_once('=') else {
                    return Err(InvalidSelector(format!("{part:?} is not `field=value`")));
                };
                let value = value.strip_prefix('=').unwrap_or(value);
                match path.strip_suffix('!') {
                    Some(path) => term(path, false, &unescape(value)),
                    None => term(path, true, &unescape(value)),
                }
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c| {
        let ends = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
    .collect()
}

fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' {
            chars.next().unwrap_or(c)
        } else {
            c
        });
    }
    plain
}

/// Formats it for the `fieldSelector` parameter of the server.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{}{}", term.path, if term.equal { "=" } else { "!=" })?;
            for c in term.value.chars() {
                if matches!(c, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<FieldSelector, InvalidSelector> {
        text.parse()
    }

    #[test]
    fn a_text_of_kubectl_is_read() {
        let selector = parse("metadata.name==a, spec.nodeName!=b").unwrap();
        assert_eq!(selector.to_string(), "metadata.name=a,spec.nodeName!=b");
        assert_eq!(selector.matches("n", "a"), None);
        assert!(parse("a").is_err());
        assert!(parse("=a").is_err());
    }

    #[test]
    fn name_and_namespace_are_matched_locally() {
        let selector = parse("metadata.name=a,metadata.namespace!=n").unwrap();
        assert_eq!(selector.matches("m", "a"), Some(true));
        assert_eq!(selector.matches("n", "a"), Some(false));
        assert_eq!(selector.matches("m", "b"), Some(false));
    }

    proptest! {
        #[test]
        fn a_selector_survives_its_text(
            terms in proptest::collection::vec(("[a-z.]{1,6}", any::<bool>(), "[a-z=,\\\\!]{0,6}"), 0..4)
        ) {
            let terms: Result<Vec<_>, _> = terms.iter().map(|(p, e, v)| term(p, *e, v)).collect();
            let selector = FieldSelector(terms.unwrap());
            // The server parses `=!=` as an operator, so an equal sign at the start of a value must be
            // escaped.
            prop_assert_eq!(parse(&selector.to_string()).unwrap(), selector);
        }
    }
}
