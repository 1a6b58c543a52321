//! How something is applied, and what came of it.

use std::sync::Arc;

use super::Ownership;
use crate::cluster::watch::Subscription;
use crate::model::Object;

/// How an object is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether the custom resource owns it: owner reference or annotations, label, pruning.
    pub owner: bool,
    /// Whether fields are taken from other managers; `None` for the watch's word, and without that:
    /// from objects that the custom resource owns.
    pub force: Option<bool>,
    /// True if an existing object that the custom resource does not own is adopted; `None` for the
    /// watch's word.
    pub adopt: Option<bool>,
    /// Whether an object that cannot be changed so is deleted and made anew.
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

/// What an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The object is new.
    Created,
    /// The object was changed.
    Changed,
    /// A request was sent and changed nothing.
    Unchanged,
    /// Nothing was sent: the object is as after the last apply.
    Skipped,
    /// The object was deleted and made anew.
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

    /// Returns whether a request that may write was sent.
    pub fn sent(self) -> bool {
        self != Self::Skipped
    }

    /// The word that traces and the CLI use.
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

/// How many applies came to which action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionCounts([usize; Action::ALL.len()]);

impl ActionCounts {
    /// Counts one.
    pub fn record(&mut self, action: Action) {
        self.0[action as usize] += 1;
    }

    /// Those that there were, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Action, usize)> {
        let counted = Action::ALL.into_iter().zip(self.0);
        counted.filter(|(_, count)| *count > 0)
    }
}

/// What came of an apply.
#[derive(Clone, Debug)]
pub struct ApplyResult {
    /// The object as it now is.
    pub object: Arc<Object>,
    /// The object as it was, where that was known.
    pub before: Option<Arc<Object>>,
    /// What was done.
    pub action: Action,
    /// True if the object existed and was adopted.
    pub adopted: bool,
    /// Fields that were sent and that the server did not keep.
    pub pruned_fields: Vec<String>,
    /// How it says who owns it.
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
