//! Label selectors: requirements that match labels and have a text form.
//!
//! [`super::manifest`] parses them from objects, and [`super::query`] from queries. As in
//! apimachinery, `!=` and `notin` also select objects without the label.

use std::fmt;

/// A valid `metav1.LabelSelector`. A selector without requirements selects all objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) key: String,
    pub(super) operator: Operator,
    pub(super) values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Returns the selector with these requirements.
    pub(super) fn new(requirements: Vec<Requirement>) -> Self {
        Self { requirements }
    }

    /// Returns whether the selector selects all objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns whether the selector selects an object. `label` returns the value of a label.
    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = || label.is_some_and(|label| self.values.iter().any(|one| one == label));
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = || self.values.first().and_then(|value| number(value));
        match self.operator {
            Operator::In => is_listed(),
            Operator::NotIn => !is_listed(),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => label.and_then(number) > bound() && bound().is_some(),
            Operator::LessThan => label
                .and_then(number)
                .is_some_and(|has| Some(has) < bound()),
        }
    }
}

/// Writes the text of a query: `app=web,tier in (a,b),!legacy`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            index,
            Requirement {
                key,
                operator,
                values,
            },
        ) in self.requirements.iter().enumerate()
        {
            if index > 0 {
                f.write_str(",")?;
            }
            let list = values.join(",");
            match operator {
                Operator::In if values.len() == 1 => write!(f, "{key}={list}")?,
                Operator::In => write!(f, "{key} in ({list})")?,
                Operator::NotIn => write!(f, "{key} notin ({list})")?,
                Operator::Exists => f.write_str(key)?,
                Operator::DoesNotExist => write!(f, "!{key}")?,
                Operator::GreaterThan => write!(f, "{key}>{list}")?,
                Operator::LessThan => write!(f, "{key}<{list}")?,
            }
        }
        Ok(())
    }
}
