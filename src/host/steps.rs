//! What a run knows of steps: how each stands, what is remembered of those that wait or fail, and which
//! of them the run is to do.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::PublicText;
use crate::role::pipeline::Place;

/// What one step of a pipeline came to.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name, with the number of the item where it is repeated: `replicas[2]`.
    pub name: Arc<str>,
    /// The key of its action.
    pub action: &'static str,
    /// Where it begins.
    pub place: Place,
    /// Which one of its list it is, from 1.
    pub number: usize,
    /// How many steps the list has.
    pub of: usize,
    /// The steps of the list that it needs.
    pub needs: Vec<Arc<str>>,
    /// How it stands.
    pub state: State,
    /// What it waits for, why it failed, which steps hold it up; else empty.
    pub message: PublicText,
    /// When it began, from the beginning of the run.
    pub at: Duration,
    /// How long it took, the steps in it included.
    pub took: Duration,
    /// Host calls that it made, those of the steps in it included.
    pub calls: usize,
    /// Which of the run's writes are its own, or those of the steps in it.
    pub writes: Range<usize>,
    /// The steps in it.
    pub steps: Vec<Self>,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is done.
    Done,
    /// Its `when` does not hold.
    Skipped,
    /// The run was not asked to do it.
    Unselected,
    /// Its gates are closed, or what it runs waits.
    Waiting,
    /// It failed.
    Failed,
    /// A step that it needs waits or failed.
    Blocked,
}

impl State {
    /// The word for people and machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Unselected => "unselected",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

/// What is remembered of the steps of a custom resource from run to run, by their paths: kept in the
/// cluster, as the annotation [`crate::model::annotations::STEPS`]. It is of one generation: for
/// another spec all begins anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// The generation that the steps were seen with.
    pub generation: i64,
    /// What is remembered, by the step's path: `install/primary`.
    pub steps: BTreeMap<String, Mark>,
}

/// What is remembered of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// Since when it waits, if it may not for ever: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// In how many runs on end it failed, if that is bounded.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Marks {
    /// What an annotation says; nothing where it is of another generation, or not ours.
    pub fn read(annotation: &str, generation: i64) -> Self {
        let marks: Self = serde_json::from_str(annotation).unwrap_or_default();
        if marks.generation == generation {
            marks
        } else {
            Self::none(generation)
        }
    }

    /// Nothing to remember.
    pub fn none(generation: i64) -> Self {
        Self {
            generation,
            steps: BTreeMap::new(),
        }
    }

    /// The annotation's value; none where nothing is to be remembered.
    pub fn write(&self) -> Option<String> {
        if self.steps.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }
}

/// Which steps of a pipeline a run does. A choice makes the run a partial one: nothing is pruned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those with one of these tags; all where there are none.
    pub tags: BTreeSet<String>,
    /// This one and those after it in the order of the file.
    pub start_at: Option<String>,
}

impl Selection {
    /// Returns whether all steps are done.
    pub fn is_all(&self) -> bool {
        self.tags.is_empty() && self.start_at.is_none()
    }
}

/// The steps at work, outermost first.
#[derive(Debug, Default)]
pub(super) struct Open(Vec<Level>);

#[derive(Debug)]
struct Level {
    name: Arc<str>,
    item: Option<usize>,
    steps: Vec<Step>,
}

impl Open {
    /// Returns whether no step is at work.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A step begins.
    pub(super) fn begin(&mut self, name: &Arc<str>) {
        self.0.push(Level {
            name: Arc::clone(name),
            item: None,
            steps: Vec::new(),
        });
    }

    /// The step at work does an item of its loop.
    pub(super) fn set_item(&mut self, item: Option<usize>) {
        if let Some(level) = self.0.last_mut() {
            level.item = item;
        }
    }

    /// The name of a step within the one at work.
    pub(super) fn name(&self, name: &Arc<str>) -> Arc<str> {
        match self.0.last().and_then(|level| level.item) {
            Some(item) => format!("{name}[{item}]").into(),
            None => Arc::clone(name),
        }
    }

    /// The path of the step at work.
    pub(super) fn path(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|level| &*level.name).collect();
        names.join("/")
    }

    /// The step at work ends; what the steps in it came to.
    pub(super) fn end(&mut self) -> Vec<Step> {
        self.0.pop().map(|level| level.steps).unwrap_or_default()
    }

    /// Keeps what a step came to with the one around it; gives it back where there is none.
    pub(super) fn keep(&mut self, step: Step) -> Option<Step> {
        match self.0.last_mut() {
            Some(level) => {
                level.steps.push(step);
                None
            }
            None => Some(step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_of_one_generation() {
        let since = "2026-01-01T00:00:00Z".to_owned();
        let mark = Mark {
            since: Some(since),
            failures: 0,
        };
        let marks = Marks {
            generation: 2,
            steps: BTreeMap::from([("install/primary".to_owned(), mark)]),
        };
        let text = marks.write().unwrap();
        assert_eq!(
            text,
            r#"{"generation":2,"steps":{"install/primary":{"since":"2026-01-01T00:00:00Z"}}}"#
        );
        assert_eq!(Marks::read(&text, 2), marks);
        assert_eq!(Marks::read(&text, 3), Marks::none(3));
        assert_eq!(Marks::read("someone wrote this", 3), Marks::none(3));
        assert_eq!(Marks::none(3).write(), None);
    }

    #[test]
    fn steps_of_items_are_told_apart() {
        let name = |text: &str| Arc::<str>::from(text);
        let mut open = Open::default();
        assert_eq!(open.name(&name("a")), name("a"));
        open.begin(&name("a"));
        open.set_item(Some(1));
        let inner = open.name(&name("b"));
        open.begin(&inner);
        assert_eq!(open.path(), "a/b[1]");
    }
}
