//! The functions that scripts can call, by name and number of arguments, and near misses.

use std::collections::{BTreeMap, BTreeSet};

use rhai::Engine;

use crate::model::diagnostics;

/// The names that the engine handles itself, without a registered function.
const SYNTACTIC: [(&str, &[usize]); 7] = [
    ("Fn", &[1]),
    ("call", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("curry", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("is_def_fn", &[2, 3]),
    ("is_def_var", &[1]),
    ("is_shared", &[1]),
    ("type_of", &[1]),
];

/// Names with the numbers of arguments that they take, as functions (a method has its object first).
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionNames(BTreeMap<String, BTreeSet<usize>>);

impl FunctionNames {
    /// All registered functions.
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

    /// Adds all of another set.
    pub(super) fn include(&mut self, other: &Self) {
        for (name, arities) in &other.0 {
            self.0.entry(name.clone()).or_default().extend(arities);
        }
    }

    /// The numbers of arguments that functions of this name take.
    pub(super) fn arities(&self, name: &str) -> Option<&BTreeSet<usize>> {
        self.0.get(name)
    }

    /// A hint with the nearest name, if one is near.
    pub(super) fn suggest(&self, name: &str) -> Option<String> {
        nearest(name, self.0.keys().map(String::as_str))
            .map(|near| format!("did you mean `{near}`?"))
    }
}

/// The candidate that `name` may be a slip for; operators and the engine's own names are none.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let candidates = candidates.into_iter();
    let words = candidates.filter(|word| word.starts_with(|c: char| c.is_alphabetic()));
    diagnostics::nearest(name, &words.collect::<Vec<_>>())
}
