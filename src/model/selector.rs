//! Label selectors: what a query or a watch keeps of a list.

use std::fmt;

/// A valid label selector (`metav1.LabelSelector`); without requirements it selects everything.
///
/// Its text is what the API server's `labelSelector` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// What one label must be like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label's name.
    pub key: String,
    /// What is asked of its value.
    pub operator: Operator,
    /// The values that the operator speaks of.
    pub values: Vec<String>,
}

/// How a [`Requirement`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has another value.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl Operator {
    /// All operators by the name that manifests use.
    pub const NAMES: [(&str, Self); 4] = [
        ("In", Self::In),
        ("NotIn", Self::NotIn),
        ("Exists", Self::Exists),
        ("DoesNotExist", Self::DoesNotExist),
    ];
}

impl LabelSelector {
    /// Of requirements that all must hold.
    pub fn new(requirements: Vec<Requirement>) -> Self {
        Self { requirements }
    }

    /// Whether labels, looked up by name, fit.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            let listed = value.is_some_and(|value| requirement.values.iter().any(|v| v == value));
            match requirement.operator {
                Operator::In => listed,
                Operator::NotIn => !listed,
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
            }
        })
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
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_text_is_what_the_server_takes() {
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
}
