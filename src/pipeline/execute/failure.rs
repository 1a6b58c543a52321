//! Waits and failures of steps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rhai::{Dynamic, EvalAltResult};

use crate::cluster;
use crate::host::session::Ending;
use crate::model::ObjectRef;
use crate::script::{self, Error, ErrorKind, HostError};

/// A condition that a step waits for.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// The step and the condition, for users.
    pub(super) on: String,
    /// The objects whose change may end the wait.
    pub(super) objects: BTreeSet<ObjectRef>,
}

/// A failure of a step.
pub(super) struct Failure {
    /// The name of the step.
    pub(super) step: Arc<str>,
    /// The step and the error, for users.
    pub(super) message: String,
    pub(super) error: Error,
    /// The error that a script can catch.
    pub(super) thrown: Box<EvalAltResult>,
    /// True if no further run can succeed without a change by users.
    pub(super) terminal: bool,
    /// True if another run retries the step before the failure counts.
    pub(super) pending: bool,
}

impl Failure {
    pub(super) fn new(step: &Arc<str>, failure: script::StepFailure) -> Self {
        let script::StepFailure { error, thrown } = failure;
        let (message, terminal) = match ending(&error) {
            Some(Ending::Failed(message)) => match error.location() {
                Some(place) => (format!("{place}: {message}"), true),
                None => (message.clone(), true),
            },
            Some(Ending::Broken {
                message, terminal, ..
            }) => (message.clone(), *terminal),
            _ => (error.to_string(), false),
        };
        Self {
            step: Arc::clone(step),
            message,
            error,
            thrown,
            terminal,
            pending: false,
        }
    }

    /// Returns the least time before a retry, if a server demanded one.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match &self.error.kind {
            ErrorKind::Host(host) => host.after,
            _ => match ending(&self.error) {
                Some(Ending::Broken { after, .. }) => *after,
                _ => None,
            },
        }
    }

    /// Returns the value of `error` in `rescue`.
    pub(super) fn to_map(&self) -> Dynamic {
        let text = |text: &str| Dynamic::from(text.to_owned());
        let mut map = rhai::Map::from([
            ("step".into(), text(&self.step)),
            ("kind".into(), text(self.kind())),
            ("message".into(), text(self.reason())),
        ]);
        if let ErrorKind::Host(host) = &self.error.kind {
            let code = host
                .code
                .map_or(Dynamic::UNIT, |code| i64::from(code).into());
            map.insert("code".into(), code);
            map.insert("reason".into(), text(&host.reason));
            map.insert("retryable".into(), host.retryable.into());
        }
        map.into()
    }

    /// Returns the error for the log. If a host function ended the step, its message is that function's.
    pub(super) fn log_error(&self) -> Error {
        Error {
            message: self.reason().to_owned(),
            ..self.error.clone()
        }
    }

    /// Returns whether the namespace of the object is terminating, which decides the outcome of the run.
    pub(super) fn is_namespace_terminating(&self) -> bool {
        match &self.error.kind {
            ErrorKind::Host(host) => host.kind == cluster::ErrorKind::NamespaceTerminating.as_str(),
            _ => false,
        }
    }

    /// Returns the message without the location.
    fn reason(&self) -> &str {
        match ending(&self.error) {
            Some(Ending::Failed(message) | Ending::Broken { message, .. }) => message,
            _ => &self.error.message,
        }
    }

    fn kind(&self) -> &str {
        match &self.error.kind {
            ErrorKind::Host(host) => &host.kind,
            _ if self.terminal => "failed",
            kind => kind.name(),
        }
    }
}

/// Returns how a host function ended a step, if one did.
pub(super) fn ending(error: &Error) -> Option<&Ending> {
    match &error.kind {
        ErrorKind::Ended(ending) => ending.downcast_ref(),
        _ => None,
    }
}

/// Returns the error of a step that waited longer than its timeout.
pub(super) fn timed_out(timeout: Duration, waits: &[Wait]) -> Box<EvalAltResult> {
    let on: Vec<&str> = waits.iter().map(|wait| &*wait.on).collect();
    let timeout = crate::model::duration::format(timeout);
    let message = format!("not ready after {timeout}: {}", on.join("; "));
    HostError::new("timeout", message).into()
}
