//! Executes the script or pipeline of a run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Mode;
use super::constants::{self, ScriptInputs};
use super::outcome_mapping::RunEnd;
use super::run::Run;
use crate::clock;
use crate::host::Session;
use crate::host::fence::fenced;
use crate::host::session::Setup;
use crate::model::redact::PublicText;
use crate::model::{Outcome, Redactor};
use crate::pipeline::execute;
use crate::role::{Entry, Role};
use crate::script::{self, ErrorKind, Job};
use crate::telemetry::log;

impl Run<'_> {
    /// Returns the error of a spec that is not a map. It must not read as an empty one: the role would create
    /// nothing, and the operator would delete the children.
    fn invalid_spec(&self) -> Option<PublicText> {
        let kind = match &self.cr.value()["spec"] {
            Value::Null | Value::Object(_) => return None,
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
        };
        let message =
            format!("cannot read the custom resource: spec: expected a map, found {kind}");
        Some(self.redactor.public(&message))
    }

    /// Executes a script or pipeline of a role, within the watch's timeout and `bound`.
    pub(super) async fn run_script(
        &mut self,
        role: &Arc<Role>,
        entry: &Entry,
        bound: Option<Duration>,
    ) -> RunEnd {
        if let Some(why) = &self.cr.unreadable {
            let message = format!("cannot read the custom resource: {why}");
            let message = self.redactor.public(&message);
            log::error!("cannot run the role", error = message);
            return Outcome::Stalled { message }.into();
        }
        if let Some(message) = self.invalid_spec() {
            log::error!("cannot run the role", error = message);
            return Outcome::Stalled { message }.into();
        }
        let timeout = self.input.watch.timeout;
        let timeout = bound.map_or(timeout, |bound| bound.min(timeout));
        let session = Arc::new(Session::new(self.setup(role)));
        let job = Job {
            program: Arc::clone(entry.program()),
            native: execute::native(entry),
            variables: session.setup.variables.clone(),
            state: Arc::<Session>::clone(&session),
            limits: self.context.limits,
            cancel: self.input.cancel.clone(),
            deadline: clock::now() + timeout,
        };
        let started = clock::now();
        let result = self.context.pool.run(job).await;
        self.report.script_took = started.elapsed();
        self.report.effects = std::mem::take(&mut *session.effects());
        self.unredacted = std::mem::take(&mut *session.unredacted());
        if !self.redactor.is_ready() {
            // This may take a second, and the threads of the runtime serve other runs.
            let redactor = &self.redactor;
            let shared = redactor.clone();
            let prepared = tokio::task::spawn_blocking(move || shared.prepare());
            if let Err(error) = prepared.await {
                log::error!("cannot prepare redaction", error = redactor.public(&error));
            }
        }
        match result {
            Ok(_) => Outcome::Done.into(),
            Err(error) => {
                self.report.limit = error.limit();
                let end = RunEnd::from_script_error(&error, self.finalizing, &self.redactor);
                // A waiting run is not a failure, for example in a terminating namespace.
                if !matches!(end.outcome, Outcome::Waiting { .. }) {
                    log(&error, &self.redactor);
                }
                end
            }
        }
    }

    fn setup(&self, role: &Arc<Role>) -> Setup {
        let scene = ScriptInputs {
            cr: &self.cr,
            watch: &self.input.watch,
            role,
            finalizing: self.finalizing,
            reason: self.input.reason,
        };
        Setup {
            cluster: fenced(&self.cluster, role, self.cr.namespace.as_ref()),
            apply_cache: self.context.apply_cache.clone(),
            owner: self.owner(),
            role: Arc::clone(role),
            roles: Arc::clone(&self.input.roles),
            variables: constants::variables(&scene),
            redactor: self.redactor.clone(),
            clock: self.context.clock.clone(),
            timeout_clock: self.context.timeout_clock.clone(),
            allow_env: self.context.allow_env.clone(),
            native: execute::native,
            trace: self.input.mode != Mode::Operator,
            step_history: self.step_history(),
            selection: self.context.selection.clone(),
        }
    }
}

/// Logs a failed script with the source line and the call chain. Ends of a run such as waiting are not
/// failures.
fn log(error: &script::Error, redactor: &Redactor) {
    if !matches!(error.kind, ErrorKind::Ended(_) | ErrorKind::Cancelled) {
        let text = format!("{error:#}");
        log::error!("script failed", error = redactor.public(&text));
    }
}
