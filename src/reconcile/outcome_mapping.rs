//! Maps the end of a script to the outcome of its run.

use std::collections::BTreeSet;

use crate::host::Ending;
use crate::model::{ObjectRef, Outcome, Redactor};
use crate::script::{self, ErrorKind};
use crate::{apply, cluster};

/// The end of a script.
#[derive(Debug, PartialEq)]
pub(super) struct RunEnd {
    pub(super) outcome: Outcome,
    /// The objects that a waiting run waits for.
    pub(super) waits: BTreeSet<ObjectRef>,
    /// True if the custom resource no longer exists, or if another object has its name.
    pub(super) gone: bool,
}

impl From<Outcome> for RunEnd {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            waits: BTreeSet::new(),
            gone: false,
        }
    }
}

impl RunEnd {
    /// Returns the end of a run whose custom resource disappeared.
    pub(super) fn for_absent_cr() -> Self {
        Self {
            gone: true,
            ..Outcome::Cancelled.into()
        }
    }

    /// Returns the end of a deletion run whose custom resource disappeared.
    pub(super) fn for_finished_deletion() -> Self {
        Self {
            gone: true,
            ..Outcome::Done.into()
        }
    }

    /// Maps a script error.
    pub(super) fn from_script_error(
        error: &script::Error,
        finalizing: bool,
        redactor: &Redactor,
    ) -> Self {
        let message = || redactor.public(error);
        match &error.kind {
            ErrorKind::Ended(ending) => match ending.downcast_ref::<Ending>() {
                Some(ending) => Self::from_ending(ending, error, redactor),
                None => Outcome::Failed {
                    message: message(),
                    after: None,
                }
                .into(),
            },
            ErrorKind::Host(host)
                if host.kind == cluster::ErrorKind::NamespaceTerminating.as_str() =>
            {
                terminating_namespace_outcome(finalizing).into()
            }
            ErrorKind::Cancelled => Outcome::Cancelled.into(),
            ErrorKind::Host(host) => Outcome::Failed {
                message: message(),
                after: host.after,
            }
            .into(),
            ErrorKind::Thrown(_)
            | ErrorKind::Limit(_)
            | ErrorKind::Deadline
            | ErrorKind::Panic
            | ErrorKind::Runtime => Outcome::Failed {
                message: message(),
                after: None,
            }
            .into(),
        }
    }

    fn from_ending(ending: &Ending, error: &script::Error, redactor: &Redactor) -> Self {
        match ending {
            Ending::Waiting { on, objects } => {
                let on = redactor.public(on);
                Self {
                    waits: objects.clone(),
                    ..Outcome::Waiting { on }.into()
                }
            }
            Ending::Failed(message) => {
                let message = match error.location() {
                    Some(place) => redactor.public(&format!("{place}: {message}")),
                    None => redactor.public(message),
                };
                Outcome::Stalled { message }.into()
            }
            Ending::Broken {
                message,
                terminal: true,
                ..
            } => {
                let message = redactor.public(message);
                Outcome::Stalled { message }.into()
            }
            Ending::Broken { message, after, .. } => {
                let (message, after) = (redactor.public(message), *after);
                Outcome::Failed { message, after }.into()
            }
            Ending::Gone => Self::for_absent_cr(),
        }
    }

    /// Maps a failed request of the runtime itself.
    pub(super) fn from_cluster_error(
        what: &str,
        error: &cluster::Error,
        finalizing: bool,
        redactor: &Redactor,
    ) -> Self {
        match error.kind {
            cluster::ErrorKind::NamespaceTerminating => {
                terminating_namespace_outcome(finalizing).into()
            }
            cluster::ErrorKind::Cancelled => Outcome::Cancelled.into(),
            _ => {
                let message = redactor.public(&format!("{what}: {error}"));
                Outcome::Failed {
                    message,
                    after: error.after,
                }
                .into()
            }
        }
    }

    /// Maps a failed apply, prune or cleanup of the runtime itself.
    pub(super) fn from_apply_error(
        what: &str,
        error: &apply::Error,
        finalizing: bool,
        redactor: &Redactor,
    ) -> Self {
        match error {
            apply::Error::Cluster(error) => {
                Self::from_cluster_error(what, error, finalizing, redactor)
            }
            apply::Error::OwnerGone { .. } => Self::for_absent_cr(),
            error => Outcome::Failed {
                message: redactor.public(&format!("{what}: {error}")),
                after: None,
            }
            .into(),
        }
    }
}

/// Returns the outcome in a terminating namespace, which accepts no new objects. A deletion run has no
/// work left there; another run is soon followed by one.
fn terminating_namespace_outcome(finalizing: bool) -> Outcome {
    if finalizing {
        Outcome::Done
    } else {
        Outcome::Waiting {
            on: "the namespace is being deleted".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::model::Gvk;
    use crate::script::{Frame, HostError};

    fn failed(kind: ErrorKind) -> script::Error {
        let frame = Frame {
            function: None,
            file: "web/tasks/main.rhai".into(),
            line: 3,
            column: 1,
            source: None,
        };
        script::Error {
            kind,
            message: "web/tasks/main.rhai:3:1: hunter22 is wrong".into(),
            hint: None,
            trace: vec![frame],
        }
    }

    fn end(kind: ErrorKind, finalizing: bool) -> RunEnd {
        RunEnd::from_script_error(&failed(kind), finalizing, &Redactor::default())
    }

    #[test]
    fn a_servers_delay_is_kept() {
        let mut host = HostError::new("too_many_requests", "slow down");
        host.after = Some(Duration::from_secs(7));
        let Outcome::Failed { after, .. } = end(ErrorKind::Host(Box::new(host)), false).outcome
        else {
            panic!("a failed host call is a failure");
        };
        assert_eq!(after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn the_message_names_the_awaited_object() {
        let object = ObjectRef::new(Gvk::new("", "v1", "Pod"), Some("n"), "x");
        let ending = Ending::Waiting {
            on: "Pod n/x".into(),
            objects: BTreeSet::from([object.clone()]),
        };
        let end = end(ErrorKind::Ended(Arc::new(ending)), false);
        assert_eq!(
            end.outcome,
            Outcome::Waiting {
                on: "Pod n/x".into()
            }
        );
        assert_eq!(end.waits, BTreeSet::from([object]));
    }

    #[test]
    fn fail_is_terminal_and_names_its_position() {
        let ending = Ending::Failed("no hunter22".into());
        let end = end(ErrorKind::Ended(Arc::new(ending)), false);
        let message = "web/tasks/main.rhai:3:1: no hunter22".into();
        assert_eq!(end.outcome, Outcome::Stalled { message });
    }

    #[test]
    fn no_outcome_gives_a_secret_away() {
        let redactor = Redactor::default();
        redactor.add("hunter22");
        for kind in [
            ErrorKind::Runtime,
            ErrorKind::Ended(Arc::new(Ending::Failed("no hunter22".into()))),
            ErrorKind::Host(Box::new(HostError::new("invalid", "no hunter22"))),
        ] {
            let end = RunEnd::from_script_error(&failed(kind), false, &redactor);
            let shown = end.outcome.message().unwrap();
            assert!(
                shown.contains("[redacted]") && !shown.contains("hunter22"),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_namespace_that_goes_ends_a_deletion_run_well() {
        let host = || {
            ErrorKind::Host(Box::new(HostError::new(
                "namespace_terminating",
                "forbidden",
            )))
        };
        assert_eq!(end(host(), true).outcome, Outcome::Done);
        assert!(matches!(
            end(host(), false).outcome,
            Outcome::Waiting { .. }
        ));
    }

    #[test]
    fn a_deleted_custom_resource_is_not_an_error() {
        let end = end(ErrorKind::Ended(Arc::new(Ending::Gone)), false);
        assert_eq!(end.outcome, Outcome::Cancelled);
        assert!(end.gone);
    }
}
