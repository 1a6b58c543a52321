//! How a step, or a list of steps, stands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rhai::{Dynamic, EvalAltResult};

use crate::host::session::Ending;
use crate::model::ObjectRef;
use crate::pipeline::Step;
use crate::script::{self, Error, HostError, Kind};

/// How a step stands.
pub(super) enum Stand {
    /// It is done, with this result.
    Done(Dynamic),
    /// Its `when` does not hold.
    Skipped,
    /// The run was not asked to do it.
    Unselected,
    /// It waits.
    Waiting(Vec<Wait>),
    /// It failed.
    Failed(Vec<Failure>),
    /// Steps that it needs, by index, hold it up.
    Blocked(Vec<usize>),
}

/// What a step waits for.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// The step and what it waits for, for people.
    pub(super) on: String,
    /// Objects whose change may end it.
    pub(super) objects: BTreeSet<ObjectRef>,
}

/// Why a step failed.
pub(super) struct Failure {
    /// The name of the step.
    pub(super) step: Arc<str>,
    /// The step and what is wrong, for people.
    pub(super) message: String,
    /// What happened.
    pub(super) error: Error,
    /// As a script would catch it.
    pub(super) thrown: Box<EvalAltResult>,
    /// Nobody but people can mend it, or it was tried as often as it may be.
    pub(super) terminal: bool,
    /// It is to be tried again before anything else is made of it.
    pub(super) pending: bool,
}

impl Failure {
    /// Of a part of a run.
    pub(super) fn new(step: &Arc<str>, failure: script::Failure) -> Self {
        let script::Failure { error, thrown } = failure;
        let (message, terminal) = match ending(&error) {
            Some(Ending::Failed(message)) => match error.place() {
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

    /// Not before this has passed.
    pub(super) fn after(&self) -> Option<Duration> {
        match &self.error.kind {
            Kind::Host(host) => host.after,
            _ => match ending(&self.error) {
                Some(Ending::Broken { after, .. }) => *after,
                _ => None,
            },
        }
    }

    /// The failure as `rescue` sees it.
    pub(super) fn to_map(&self) -> Dynamic {
        let text = |text: &str| Dynamic::from(text.to_owned());
        let mut map = rhai::Map::from([
            ("step".into(), text(&self.step)),
            ("kind".into(), text(self.kind())),
            ("message".into(), text(self.reason())),
        ]);
        if let Kind::Host(host) = &self.error.kind {
            let code = host
                .code
                .map_or(Dynamic::UNIT, |code| i64::from(code).into());
            map.insert("code".into(), code);
            map.insert("reason".into(), text(&host.reason));
            map.insert("retryable".into(), host.retryable.into());
        }
        map.into()
    }

    /// The error in its own words, also where a function of the host ended the part.
    pub(super) fn told(&self) -> Error {
        Error {
            message: self.reason().to_owned(),
            ..self.error.clone()
        }
    }

    /// What is wrong, without the place.
    fn reason(&self) -> &str {
        match ending(&self.error) {
            Some(Ending::Failed(message) | Ending::Broken { message, .. }) => message,
            _ => &self.error.message,
        }
    }

    fn kind(&self) -> &str {
        match &self.error.kind {
            Kind::Host(host) => &host.kind,
            _ if self.terminal => "failed",
            kind => kind.name(),
        }
    }
}

/// How a host function ended a part of a run.
pub(super) fn ending(error: &Error) -> Option<&Ending> {
    match &error.kind {
        Kind::Ended(ending) => ending.downcast_ref(),
        _ => None,
    }
}

/// What a list of steps came to.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) waits: Vec<Wait>,
    pub(super) failures: Vec<Failure>,
}

impl Verdict {
    /// Adds how a step of the list stands, told as `2 of 5, primary: …`.
    pub(super) fn note(&mut self, at: &str, stand: Stand) {
        match stand {
            Stand::Waiting(waits) => self.waits.extend(waits.into_iter().map(|wait| Wait {
                on: format!("{at}: {}", wait.on),
                ..wait
            })),
            Stand::Failed(failures) => {
                self.failures
                    .extend(failures.into_iter().map(|failure| Failure {
                        message: format!("{at}: {}", failure.message),
                        ..failure
                    }));
            }
            Stand::Done(_) | Stand::Skipped | Stand::Unselected | Stand::Blocked(_) => {}
        }
    }

    /// How the step stands that the list is of: a failure weighs more than a wait.
    pub(super) fn stand(self, done: impl FnOnce() -> Dynamic) -> Stand {
        if !self.failures.is_empty() {
            Stand::Failed(self.failures)
        } else if !self.waits.is_empty() {
            Stand::Waiting(self.waits)
        } else {
            Stand::Done(done())
        }
    }

    /// How the run ends that the list is all of; none where all is done.
    pub(super) fn ending(&self) -> Option<Ending> {
        if self.failures.is_empty() {
            return (!self.waits.is_empty()).then(|| waiting(&self.waits));
        }
        let messages: Vec<&str> = self.failures.iter().map(|f| &*f.message).collect();
        Some(Ending::Broken {
            message: messages.join("; "),
            after: self.failures.iter().filter_map(Failure::after).max(),
            terminal: self.failures.iter().all(|failure| failure.terminal),
        })
    }

    /// The failure that says how a run ends without any words of ours: of a namespace that goes.
    pub(super) fn take_decisive(&mut self) -> Option<Box<EvalAltResult>> {
        let terminates = |failure: &Failure| match &failure.error.kind {
            Kind::Host(host) => {
                host.kind == crate::cluster::ErrorKind::NamespaceTerminating.as_str()
            }
            _ => false,
        };
        let index = self.failures.iter().position(terminates)?;
        Some(self.failures.swap_remove(index).thrown)
    }
}

/// What waits tell together.
pub(super) fn waiting(waits: &[Wait]) -> Ending {
    let on: Vec<&str> = waits.iter().map(|wait| &*wait.on).collect();
    let objects = waits.iter().flat_map(|wait| wait.objects.iter().cloned());
    Ending::Waiting {
        on: on.join("; "),
        objects: objects.collect(),
    }
}

/// Where a step stands in its list: `2 of 5, primary`.
pub(super) fn position(steps: &[Step], index: usize, name: &str) -> String {
    format!("{} of {}, {name}", index + 1, steps.len())
}

/// The error of a step that waited too long.
pub(super) fn too_late(waited: Duration, waits: &[Wait]) -> Box<EvalAltResult> {
    let on: Vec<&str> = waits.iter().map(|wait| &*wait.on).collect();
    let waited = crate::model::duration::format(waited);
    let message = format!("it is not ready after {waited}: {}", on.join("; "));
    HostError::new("timeout", message).into()
}
