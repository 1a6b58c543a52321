//! The functions that scripts can call, by name and number of arguments, and suggestions for typos.

use std::collections::{BTreeMap, BTreeSet};

use rhai::Engine;

use crate::model::diagnostics;

/// Functions that the engine implements as syntax, without registration.
const SYNTACTIC: [(&str, &[usize]); 7] = [
    ("Fn", &[1]),
    ("call", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("curry", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("is_def_fn", &[2, 3]),
    ("is_def_var", &[1]),
    ("is_shared", &[1]),
    ("type_of", &[1]),
];

/// Names of functions with their numbers of arguments. The object of a method counts as an argument.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionNames(BTreeMap<String, BTreeSet<usize>>);

impl FunctionNames {
    /// Returns all registered functions.
    pub(super) fn from_engine(engine: &Engine) -> Self {
        let mut names = Self::default();
        for (name, arities) in SYNTACTIC {
            for &arity in arities {
                names.add(name, arity);
            }
        }
        let registered = engine.collect_fn_metadata(
            None,
            |function| {
                let metadata = function.metadata;
                Some((metadata.name.to_string(), metadata.num_params))
            },
            true,
        );
        for (name, arity) in registered {
            names.add(&name, arity);
        }
        names
    }

    /// Adds a function.
    pub(super) fn add(&mut self, name: &str, arity: usize) {
        self.0.entry(name.to_owned()).or_default().insert(arity);
    }

    /// Adds all functions of another set.
    pub(super) fn include(&mut self, other: &Self) {
        for (name, arities) in &other.0 {
            self.0.entry(name.clone()).or_default().extend(arities);
        }
    }

    /// Returns the numbers of arguments that functions of this name take.
    pub(super) fn arities(&self, name: &str) -> Option<&BTreeSet<usize>> {
        self.0.get(name)
    }

    /// Returns a hint with the most similar name, if one is similar enough.
    pub(super) fn suggest(&self, name: &str) -> Option<String> {
        nearest(name, self.0.keys().map(String::as_str))
            .map(|near| format!("did you mean `{near}`?"))
    }
}

/// Returns the candidate of which `name` may be a typo. Operators and internal names are no candidates.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let candidates = candidates.into_iter();
    let words = candidates.filter(|word| word.starts_with(|c: char| c.is_alphabetic()));
    diagnostics::nearest(name, &words.collect::<Vec<_>>())
}
