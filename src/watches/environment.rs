//! Environment variables as a value, so that reading a file depends on nothing hidden.

use std::collections::BTreeMap;

/// Names and values of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// That of this process; variables that are not UTF-8 are left out.
    pub fn of_process() -> Self {
        let variables = std::env::vars_os();
        Self(
            variables
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
        )
    }

    /// A variable's value; empty is not the same as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The names of all variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Sets a variable here, not in the process.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter();
        Self(variables.map(|(n, v)| (n.into(), v.into())).collect())
    }
}
