//! Environment variables as a value, so that parsing has no hidden input.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

/// Names and values of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// The names of variables whose values are not UTF-8.
    unreadable: BTreeSet<String>,
}

impl Environment {
    /// Returns the environment of this process. A variable whose name is not UTF-8 cannot be referred to.
    pub fn of_process() -> Self {
        Self::from_os(std::env::vars_os())
    }

    fn from_os(variables: impl Iterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let Ok(name) = name.into_string() else {
                continue;
            };
            match value.into_string() {
                Ok(value) => environment.set(name, value),
                Err(_) => _ = environment.unreadable.insert(name),
            }
        }
        environment
    }

    /// Returns the names of variables whose values are not UTF-8.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().map(String::as_str)
    }

    /// Returns the value of a variable, which can be empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns the names of all variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Sets a variable of this value, not of the process.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.variables.insert(name.into(), value.into());
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter();
        Self {
            variables: variables.map(|(n, v)| (n.into(), v.into())).collect(),
            unreadable: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::Path;

    use super::*;
    use crate::model::Diagnostic;

    #[test]
    fn a_variable_that_is_not_utf_8_is_an_error_where_it_counts() {
        let odd = || OsString::from_vec(vec![b'a', 0xff]);
        let parse = |name: &str, role: &str| {
            let environment = Environment::from_os([(name.into(), odd())].into_iter());
            let text = format!("- {{group: g, version: v1, kind: K, role: '{role}'}}");
            let watches = crate::watches::parse(Path::new("watches.yaml"), &text, &environment);
            let errors = watches.problems.into_iter().filter(Diagnostic::is_error);
            errors.map(|error| error.to_string()).collect::<Vec<_>>()
        };
        for name in ["WATCH_NAMESPACE", "MAX_CONCURRENT_RECONCILES_K_G"] {
            let errors = parse(name, "r");
            assert!(
                errors[0].contains(&format!("{name}: expected UTF-8")),
                "{errors:?}"
            );
        }
        let errors = parse("ROLE", "${ROLE}");
        assert!(errors[0].contains("ROLE"), "{errors:?}");
        assert_eq!(parse("OTHER", "r"), Vec::<String>::new());
    }
}
