//! Which steps and results a step can speak of, and how two steps lie to one another.

use std::collections::BTreeMap;

use super::super::parsed::{Draft, List};

/// The way to a step: number of the list and index at each level, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::pipeline) struct Path(Vec<(usize, usize)>);

/// How a step lies to another that it speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pipeline) enum Found {
    /// They are in one list, or are within two steps of one list.
    Sibling {
        /// The number of the list.
        list: usize,
        /// The index of the one that speaks.
        from: usize,
        /// The index of the other.
        to: usize,
    },
    /// It is in an earlier part of the same block.
    Earlier,
    /// It is in a later part of the same block.
    Later,
    /// It is around the step.
    Around,
    /// It is within the step.
    Within,
}

impl Path {
    /// That of a step of a list within.
    pub(in crate::pipeline) fn below(&self, list: usize, index: usize) -> Self {
        let mut path = self.0.clone();
        path.push((list, index));
        Self(path)
    }

    /// The steps of which the last is the step itself.
    pub(in crate::pipeline) fn levels(&self) -> Vec<(usize, usize)> {
        self.0.clone()
    }

    /// How another step lies.
    pub(in crate::pipeline) fn towards(&self, other: &Self) -> Found {
        let mut levels = self.0.iter().zip(&other.0);
        match levels.find(|(own, other)| own != other) {
            Some((&(list, from), &(same, to))) if list == same => Found::Sibling { list, from, to },
            // The lists of a block are numbered in the order in which they are done.
            Some(((own, _), (other, _))) if other < own => Found::Earlier,
            Some(_) => Found::Later,
            None if other.0.len() < self.0.len() => Found::Around,
            None => Found::Within,
        }
    }
}

/// The names that the steps of some lists share.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Names<'a> {
    outer: Option<&'a Self>,
    steps: BTreeMap<&'a str, Path>,
    /// A result may be made by several steps of a block: in it or in its rescue.
    results: BTreeMap<&'a str, Vec<Path>>,
    /// Names that are within a loop or an included file, and the step that is.
    enclosed: BTreeMap<&'a str, &'a str>,
}

/// Two steps with one name.
pub(in crate::pipeline) struct Twice<'a> {
    pub(in crate::pipeline) list: &'a List,
    pub(in crate::pipeline) draft: &'a Draft,
    pub(in crate::pipeline) message: String,
}

impl<'a> Names<'a> {
    /// Those of a whole file.
    pub(in crate::pipeline) fn of(list: &'a List, twice: &mut Vec<Twice<'a>>) -> Self {
        let mut names = Self::default();
        names.add(list, &Path::default(), twice);
        names
    }

    /// Those of the steps within a step, where they have names of their own.
    pub(in crate::pipeline) fn within<'b>(
        &'b self,
        draft: &'b Draft,
        path: &Path,
    ) -> Option<Names<'b>>
    where
        'a: 'b,
    {
        if !draft.is_enclosed() {
            return None;
        }
        let mut names = Names {
            outer: Some(self),
            ..Names::default()
        };
        for list in &draft.within {
            // Told already, when the names around were gathered.
            names.add(list, path, &mut Vec::new());
        }
        Some(names)
    }

    fn add(&mut self, list: &'a List, above: &Path, twice: &mut Vec<Twice<'a>>) {
        for (index, draft) in list.drafts.iter().enumerate() {
            let path = above.below(list.number, index);
            let mut tell = |message| {
                twice.push(Twice {
                    list,
                    draft,
                    message,
                });
            };
            let name = &*draft.step.name;
            if draft.named && self.steps.insert(name, path.clone()).is_some() {
                tell(format!("another step is named {name:?}"));
            }
            if let Some(register) = draft.step.register.as_deref() {
                let known = self.results.entry(register).or_default();
                let beside = |known: &Path| matches!(path.towards(known), Found::Sibling { .. });
                if known.iter().any(beside) && register != name {
                    tell(format!("another step registers {register:?}"));
                }
                known.push(path.clone());
            }
            if !draft.is_enclosed() {
                for inner in &draft.within {
                    self.add(inner, &path, twice);
                }
                continue;
            }
            // Names of their own, but not twice in there either.
            let mut own = Self::default();
            for inner in &draft.within {
                own.add(inner, &path, twice);
            }
            let names = own.results.into_keys().chain(own.steps.into_keys());
            self.enclosed.extend(names.map(|inner| (inner, name)));
        }
    }

    /// The step of a name.
    pub(in crate::pipeline) fn step(&self, name: &str) -> Option<&Path> {
        let own = self.steps.get(name);
        own.or_else(|| self.outer.and_then(|outer| outer.step(name)))
    }

    /// The steps that make a result.
    pub(in crate::pipeline) fn result(&self, key: &str) -> &[Path] {
        match (self.results.get(key), self.outer) {
            (Some(paths), _) => paths,
            (None, Some(outer)) => outer.result(key),
            (None, None) => &[],
        }
    }

    /// The step that a name is within, if its names are its own.
    pub(in crate::pipeline) fn enclosed(&self, name: &str) -> Option<&str> {
        let own = self.enclosed.get(name).copied();
        own.or_else(|| self.outer.and_then(|outer| outer.enclosed(name)))
    }

    /// The names of all steps that can be spoken of.
    pub(in crate::pipeline) fn steps(&self) -> Vec<&str> {
        let outer = self.outer.map(Names::steps).unwrap_or_default();
        self.steps.keys().copied().chain(outer).collect()
    }

    /// All results that can be spoken of.
    pub(in crate::pipeline) fn results(&self) -> Vec<&str> {
        let outer = self.outer.map(Names::results).unwrap_or_default();
        self.results.keys().copied().chain(outer).collect()
    }
}
