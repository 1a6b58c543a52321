//! Names → graph: what each step needs, and that this is no circle.

pub(super) mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::names::{Found, Names, Path};
use super::parse::Mentioned;
use super::parsed::{Draft, List};
use crate::model::Diagnostic;
use crate::model::diagnostics::nearest;
use crate::model::yaml::Position;
use crate::script::{Excerpt, Fragment, Program};

/// The needs of the steps, by number of the list and index.
pub(super) type Needs = BTreeMap<(usize, usize), BTreeMap<usize, Why>>;

/// Why a step needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It says so.
    Named,
    /// It, or a step within it, uses a result.
    Reads,
    /// It comes after it.
    Follows,
}

/// What the graph of a pipeline is made from.
pub(super) struct Graph<'a> {
    /// Where the role is.
    pub(super) folder: &'a std::path::Path,
    pub(super) program: &'a Program,
    pub(super) excerpts: &'a [Excerpt],
    pub(super) needs: Needs,
    pub(super) problems: Vec<Diagnostic>,
}

/// One step, and how it is reached.
struct At<'a> {
    draft: &'a Draft,
    file: &'a Arc<str>,
    path: &'a Path,
    names: &'a Names<'a>,
}

impl Graph<'_> {
    /// Finds the needs of all steps of a list and of the steps within them.
    pub(super) fn list(&mut self, list: &List, above: &Path, names: &Names<'_>) {
        for (index, draft) in list.drafts.iter().enumerate() {
            let path = above.below(list.number, index);
            let at = At {
                draft,
                file: &list.file,
                path: &path,
                names,
            };
            self.step(&at, list.number, index);
            let within = names.within(draft, &path);
            for inner in &draft.within {
                self.list(inner, &path, within.as_ref().unwrap_or(names));
            }
        }
    }

    fn step(&mut self, at: &At<'_>, list: usize, index: usize) {
        match &at.draft.needs {
            None => {
                if let Some(before) = index.checked_sub(1) {
                    self.add((list, index), before, Why::Follows);
                }
            }
            Some(needs) => {
                for (name, position) in needs {
                    self.named(at, name, *position);
                }
            }
        }
        for (code, mentions, gate) in [
            (&at.draft.code, &at.draft.mentions, false),
            (&at.draft.gates, &at.draft.gate_mentions, true),
        ] {
            let of_code = code.clone().flat_map(|index| self.mentions(index));
            let of_code: Vec<_> = of_code.collect();
            for mention in of_code.iter().chain(mentions) {
                self.mentioned(at, mention, gate);
            }
        }
    }

    fn add(&mut self, (list, index): (usize, usize), need: usize, why: Why) {
        let needs = self.needs.entry((list, index)).or_default();
        let known = needs.entry(need).or_insert(why);
        *known = why.min(*known);
    }

    fn mentions(&self, index: usize) -> Vec<Mentioned> {
        let mentions = self
            .program
            .mentions(Fragment::new(index), super::scope::RESULTS);
        let file = self.excerpts.get(index).map(|excerpt| &excerpt.file);
        let place = |(line, column)| Some((Arc::clone(file?), Position { line, column }));
        mentions
            .into_iter()
            .map(|mention| Mentioned {
                key: mention.key,
                place: mention.place.and_then(place),
            })
            .collect()
    }

    fn tell(&mut self, file: &str, at: Position, message: String, hint: String) {
        let problem = Diagnostic::error(self.folder.join(file), at.line, at.column, message);
        let problem = if hint.is_empty() {
            problem
        } else {
            problem.hint(hint)
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// A step of `needs`.
    fn named(&mut self, at: &At<'_>, name: &str, position: Position) {
        let Some(target) = at.names.step(name) else {
            let message = format!("there is no step {name:?}");
            let hint = hint_of_step(at.names, name);
            self.tell(at.file, position, message, hint);
            return;
        };
        if target == at.path {
            let message = "a step cannot need itself".to_owned();
            self.tell(at.file, position, message, String::new());
            return;
        }
        match at.path.towards(target) {
            Found::Sibling { list, from, to } => self.add((list, from), to, Why::Named),
            Found::Earlier => {}
            Found::Later | Found::Around | Found::Within => {
                let message = format!("{name:?} cannot be done before this step");
                let hint = "one of them is within the other, or in a later part of the same block";
                self.tell(at.file, position, message, hint.to_owned());
            }
        }
    }

    /// A use of results; gates may use those of the steps within the step.
    fn mentioned(&mut self, at: &At<'_>, mention: &Mentioned, gate: bool) {
        let Some(key) = &mention.key else {
            for (list, index) in at.path.levels() {
                for before in 0..index {
                    self.add((list, index), before, Why::Reads);
                }
            }
            return;
        };
        let place = mention.place.clone();
        let (file, position) = place.unwrap_or_else(|| (Arc::clone(at.file), at.draft.position));
        let targets = at.names.result(key);
        if targets.is_empty() {
            let message = format!("no step makes results.{key}");
            let hint = hint_of_result(at.names, key);
            self.tell(&file, position, message, hint);
            return;
        }
        for target in targets {
            if target == at.path {
                let message = format!("results.{key} is what this step makes");
                let hint = "in `until` it is `result`, in `ready` each object is `object`";
                self.tell(&file, position, message, hint.to_owned());
                continue;
            }
            match at.path.towards(target) {
                Found::Sibling { list, from, to } => self.add((list, from), to, Why::Reads),
                Found::Earlier => {}
                Found::Within if gate => {}
                Found::Within | Found::Around | Found::Later => {
                    let message = format!("results.{key} is not there yet");
                    let hint = "it is made by a step around or within this one, or by a later part \
                                of the same block";
                    self.tell(&file, position, message, hint.to_owned());
                }
            }
        }
    }

    /// Tells the circles among the steps of a list and of the steps within them.
    pub(super) fn circles(&mut self, list: &List) {
        let mut done = BTreeSet::new();
        for index in 0..list.drafts.len() {
            if let Some(circle) = self.circle(list, &mut vec![index], &mut done) {
                self.tell_circle(list, &circle);
            }
        }
        for inner in list.drafts.iter().flat_map(|draft| &draft.within) {
            self.circles(inner);
        }
    }

    /// A circle that the last step of a way leads to; what was looked at is added to `done`.
    fn circle(
        &self,
        list: &List,
        way: &mut Vec<usize>,
        done: &mut BTreeSet<usize>,
    ) -> Option<Vec<usize>> {
        let here = *way.last()?;
        if done.contains(&here) {
            return None;
        }
        let needs = self.needs.get(&(list.number, here));
        for &need in needs.into_iter().flat_map(BTreeMap::keys) {
            if let Some(first) = way.iter().position(|step| *step == need) {
                done.extend(way.iter());
                return Some(way[first..].to_vec());
            }
            way.push(need);
            let circle = self.circle(list, way, done);
            way.pop();
            if circle.is_some() {
                return circle;
            }
        }
        done.insert(here);
        None
    }

    fn tell_circle(&mut self, list: &List, circle: &[usize]) {
        let name = |index: usize| &*list.drafts[index].step.name;
        let closed = circle.iter().chain(circle.first());
        let names: Vec<_> = closed.clone().map(|index| name(*index)).collect();
        let steps: Vec<_> = closed.copied().collect();
        let reasons: Vec<_> = steps
            .windows(2)
            .filter_map(|pair| {
                let why = self.needs.get(&(list.number, pair[0]))?.get(&pair[1])?;
                let verb = match why {
                    Why::Named => "needs",
                    Why::Reads => "reads a result of",
                    Why::Follows => "comes after",
                };
                Some(format!("{} {verb} {}", name(pair[0]), name(pair[1])))
            })
            .collect();
        let first = circle.iter().min().copied().unwrap_or_default();
        let message = format!("the steps wait for one another: {}", names.join(" → "));
        let hint = reasons.join("; ");
        self.tell(&list.file, list.drafts[first].position, message, hint);
    }
}

/// What may be meant by a step that there is not.
fn hint_of_step(names: &Names<'_>, name: &str) -> String {
    if let Some(enclosed) = names.enclosed(name) {
        return format!("it is within {enclosed:?}: need that");
    }
    let known = names.steps();
    match nearest(name, &known) {
        Some(near) => format!("did you mean {near:?}?"),
        None if known.is_empty() => "no step has a name".to_owned(),
        None => String::new(),
    }
}

/// What may be meant by a result that there is not.
fn hint_of_result(names: &Names<'_>, key: &str) -> String {
    if let Some(enclosed) = names.enclosed(key) {
        return format!("it is made within {enclosed:?}: see results[{enclosed:?}]");
    }
    if names.step(key).is_some() {
        return "that step registers another name".to_owned();
    }
    let known = names.results();
    match nearest(key, &known) {
        Some(near) => format!("did you mean results.{near}?"),
        None if known.is_empty() => "no step has a name".to_owned(),
        None => String::new(),
    }
}
