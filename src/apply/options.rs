//! Options and results of an apply.

use std::sync::Arc;

use super::Ownership;
use crate::cluster::watch::Subscription;
use crate::model::Object;

/// The options of an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// True if the custom resource owns the object: owner reference or annotations, label, pruning.
    pub owner: bool,
    /// True to take fields from other managers. `None` for the setting of the watch; its default is
    /// to take them for owned objects.
    pub force: Option<bool>,
    /// True to adopt an existing object that the custom resource does not own. `None` for the
    /// setting of the watch.
    pub adopt: Option<bool>,
    /// True to delete and create an object again if a field is immutable.
    pub recreate: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            owner: true,
            force: None,
            adopt: None,
            recreate: false,
        }
    }
}

/// The action of an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The object was created.
    Created,
    /// The object was changed.
    Changed,
    /// A request was sent and changed nothing.
    Unchanged,
    /// No request was sent, because the object has not changed since the last apply.
    Skipped,
    /// The object was deleted and created again.
    Recreated,
}

impl Action {
    const ALL: [Self; 5] = [
        Self::Created,
        Self::Changed,
        Self::Unchanged,
        Self::Skipped,
        Self::Recreated,
    ];

    /// Returns the word that traces and the command line show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Skipped => "skipped",
            Self::Recreated => "recreated",
        }
    }
}

/// The number of applies by action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionCounts([usize; Action::ALL.len()]);

impl ActionCounts {
    /// Counts an action.
    pub fn record(&mut self, action: Action) {
        self.0[action as usize] += 1;
    }

    /// Returns the actions that occurred, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Action, usize)> {
        let counted = Action::ALL.into_iter().zip(self.0);
        counted.filter(|(_, count)| *count > 0)
    }
}

/// The result of an apply.
#[derive(Clone, Debug)]
pub struct ApplyResult {
    /// The object after the apply.
    pub object: Arc<Object>,
    /// The object before the apply, if it was known.
    pub before: Option<Arc<Object>>,
    /// The action of the apply.
    pub action: Action,
    /// True if the object existed and was adopted.
    pub adopted: bool,
    /// Fields that were sent and that the server did not keep.
    pub pruned_fields: Vec<String>,
    /// The ownership of the object.
    pub ownership: Ownership,
    /// Keeps the watch open that reports the object's changes.
    pub subscription: Subscription,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_is_counted_for_itself() {
        let mut actions = ActionCounts::default();
        for action in Action::ALL.into_iter().chain([Action::Skipped]) {
            actions.record(action);
        }
        let counted: Vec<_> = actions.iter().collect();
        assert_eq!(counted.len(), Action::ALL.len());
        for (action, count) in counted {
            assert_eq!(
                count,
                if action == Action::Skipped { 2 } else { 1 },
                "{action:?}"
            );
        }
    }
}
