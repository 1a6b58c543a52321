//! Executes one apply. [`super::apply`] describes the protocol.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::desired::keep_finalizers_of;
use super::last_applied::{self, LastApplied};
use super::live::{check_owner_exists, read_child, refuse_unreadable, subscribe_to_existing};
use super::target::{ApplyTarget, Ownership};
use super::{
    Action, ApplyCache, ApplyResult, Claim, DesiredObject, Error, Options, Owner, conflict, diff,
    initial_create, pruned_fields,
};
use crate::cluster::conflict_retry::ConflictRetry;
use crate::cluster::read::ReadResult;
use crate::cluster::request::{DeleteOptions, DeleteResult, Effect, WriteOptions, WriteResponse};
use crate::cluster::watch::Subscription;
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::{Object, ParsedObject};

/// An apply of one object.
pub(super) struct ServerSideApply<'a> {
    cluster: &'a Cluster,
    cache: &'a ApplyCache,
    owner: &'a Owner,
    desired: &'a DesiredObject,
    options: Options,
    target: ApplyTarget,
    ownership: Ownership,
    live: Option<ParsedObject>,
    subscription: Subscription,
    /// True if the object exists, the custom resource does not own it, and it is adopted.
    adopts: bool,
}

/// The result of one write.
enum WriteAttempt {
    /// The server accepted the write. True if the object was deleted for it.
    Written(Box<WriteResponse>, bool),
    /// The server refused the write, because the object is not the one that the operator read.
    Outdated(Error),
}

impl<'a> ServerSideApply<'a> {
    /// Resolves the target, the future ownership and the live object.
    pub(super) async fn prepare(
        cluster: &'a Cluster,
        cache: &'a ApplyCache,
        owner: &'a Owner,
        desired: &'a DesiredObject,
        options: Options,
    ) -> Result<Self, Error> {
        let target = desired.resolve_target(cluster, owner).await?;
        let mut read = ReadResult {
            object: None,
            subscription: Subscription::unwatched(),
        };
        if options.owner && owner.is_live() {
            read = read_child(cluster, &target.object).await?;
        }
        let ownership = target.ownership(owner, options.owner, read.object.as_deref());
        if !ownership.is_owned() {
            read = cluster.read(&target.object).await?;
        }
        refuse_unreadable(read.object.as_deref())?;
        Ok(Self {
            cluster,
            cache,
            owner,
            desired,
            options,
            target,
            ownership,
            live: read.object.map(ParsedObject::new),
            subscription: read.subscription,
            adopts: false,
        })
    }

    pub(super) async fn run(mut self) -> Result<ApplyResult, Error> {
        let digest = self.desired.digest(self.owner, self.ownership);
        let memo = self.last_applied();
        if let (Some(memo), Some(live)) = (&memo, &self.live)
            && memo.is_current(digest, live)
        {
            self.cluster
                .check_access(&self.target.object, "patch")
                .await?;
            self.register_child().await?;
            return Ok(self.skipped_result(live.object()));
        }
        if self.live.is_none()
            && self.ownership.is_owned()
            && self.cache.was_recently_created(&self.target.object)
        {
            check_owner_exists(self.cluster, self.owner).await?;
        }
        let is_own = |live: &ParsedObject| Claim::determine(self.owner, live) == Claim::Own;
        if self.options.owner && !self.live.as_ref().is_none_or(is_own) {
            self.refetch().await?;
        }
        if let Some(live) = &self.live {
            let body = self.body()?;
            let holds = match &memo {
                Some(memo) if memo.is_unchanged(digest, self.owner, live, &body) => true,
                _ => last_applied::matches_live(self.owner, live, &body),
            };
            if holds && !self.adopts {
                self.cluster
                    .check_access(&self.target.object, "patch")
                    .await?;
                self.register_child().await?;
                self.store_last_applied(LastApplied::new(digest, self.owner, live, &body));
                return Ok(self.skipped_result(live.object()));
            }
        }
        self.register_child().await?;
        let mut attempts = ConflictRetry::default();
        loop {
            let body = self.body()?;
            match self.write_once(memo.as_deref(), &body).await? {
                WriteAttempt::Written(written, recreated) => {
                    return Ok(self.into_result(digest, &body, *written, recreated));
                }
                WriteAttempt::Outdated(error) => {
                    if !attempts.wait_for_retry().await {
                        return Err(error);
                    }
                    self.refetch().await?;
                }
            }
        }
    }

    /// Adds the object to the list of the custom resource if owner references cannot reach it.
    async fn register_child(&self) -> Result<(), Error> {
        match &self.owner.registrar {
            Some(guard) if self.ownership.is_unreachable() => {
                guard.register(&self.target.object).await
            }
            _ => Ok(()),
        }
    }

    /// Returns the body to send. An object that is being deleted takes no new finalizers.
    fn body(&self) -> Result<Value, Error> {
        let mut body = self
            .desired
            .body(&self.target, self.owner, self.ownership)?;
        if let Some(live) = self.live.as_ref().filter(|live| live.deleting) {
            keep_finalizers_of(&mut body, live);
        }
        Ok(body)
    }

    /// Reads the object from the server, because the caches are behind.
    async fn refetch(&mut self) -> Result<(), Error> {
        let live = self.cluster.unfenced().get(&self.target.object).await?;
        refuse_unreadable(live.as_deref())?;
        self.live = live.map(ParsedObject::new);
        self.check_claim().await
    }

    /// Refuses an existing object that the custom resource does not own, unless the apply adopts
    /// it.
    async fn check_claim(&mut self) -> Result<(), Error> {
        self.adopts = false;
        if !self.options.owner {
            return Ok(());
        }
        let Some(live) = &self.live else {
            return Ok(());
        };
        let adopt = self.options.adopt.unwrap_or(self.owner.adopt);
        let holder = match Claim::determine(self.owner, live) {
            Claim::Own => return Ok(()),
            Claim::Foreign(_) if adopt => {
                self.adopts = true;
                return Ok(());
            }
            Claim::Foreign(holder) => Some(holder),
            Claim::Former => None,
        };
        let object = &self.target.object;
        let existing = subscribe_to_existing(self.cluster, object, live.object()).await;
        let cr = self.owner.cr.clone();
        Err(match holder {
            Some(holder) => Error::NotOwned {
                cr,
                holder,
                existing,
            },
            None => Error::Former { cr, existing },
        })
    }

    /// Converts the entry of the create before an apply that may give up a field, or that must not
    /// take fields from other managers.
    async fn convert_creation_fields(
        &self,
        memo: Option<&LastApplied>,
        body: &Value,
    ) -> Result<(), Error> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let keeps_all = |memo: &LastApplied| memo.requests_same_fields(self.owner, live, body);
        let harmless = self.forces() && memo.is_some_and(keeps_all);
        if harmless || !initial_create::has_creation_entry(self.owner, live) {
            return Ok(());
        }
        initial_create::convert_to_apply(self.cluster, self.owner, &self.target.object).await
    }

    /// Sends one write: a create if the cache has no such object, and otherwise an apply that contains the
    /// uid of the cached object. If the cache is outdated, the server refuses both.
    async fn write_once(
        &self,
        memo: Option<&LastApplied>,
        body: &Value,
    ) -> Result<WriteAttempt, Error> {
        match &self.live {
            Some(live) if self.options.recreate && live.deleting => Err(self.recreating()),
            None if self.options.owner => self.create(body, false).await,
            Some(live) if self.adopts => {
                self.convert_creation_fields(memo, body).await?;
                let body = self.demote_controllers(live, body).await?;
                self.apply(&body).await
            }
            _ => {
                self.convert_creation_fields(memo, body).await?;
                self.apply(body).await
            }
        }
    }

    async fn create(&self, body: &Value, recreated: bool) -> Result<WriteAttempt, Error> {
        let bytes = Bytes::from(body.to_string());
        match initial_create::create(self.cluster, self.owner, &self.target.object, &bytes).await {
            Ok(written) => Ok(WriteAttempt::Written(Box::new(written), recreated)),
            Err(error) if error.kind == ErrorKind::AlreadyExists => {
                Ok(WriteAttempt::Outdated(error.into()))
            }
            Err(error) => Err(conflict::explain_refusal(self.cluster, self.owner, error).await),
        }
    }

    async fn apply(&self, body: &Value) -> Result<WriteAttempt, Error> {
        let error = match self.patch(body).await {
            Ok(written) => return Ok(WriteAttempt::Written(Box::new(written), false)),
            Err(error) => error,
        };
        let overtaken = conflict::is_uid_mismatch(&error) || conflict::is_second_controller(&error);
        if overtaken && self.options.owner {
            return Ok(WriteAttempt::Outdated(error.into()));
        }
        if !conflict::is_immutable(&error) {
            return Err(conflict::explain_refusal(self.cluster, self.owner, error).await);
        }
        if !self.options.recreate {
            return Err(Error::Immutable { error });
        }
        self.delete().await?;
        self.create(body, true).await
    }

    /// Makes other controllers of the object plain owners, and returns the body to apply. If that write was
    /// planned only, the apply has to change them itself.
    async fn demote_controllers(&self, live: &ParsedObject, body: &Value) -> Result<Value, Error> {
        let mut body = body.clone();
        let references = live.details().owner_references;
        let mut controllers = references.into_iter().filter(|one| one.controller);
        match controllers.next().filter(|_| self.ownership.is_owned()) {
            Some(controller)
                if conflict::demote_controllers(self.cluster, self.owner, live).await? =>
            {
                let mut reference = json!(controller);
                reference["controller"] = json!(false);
                let wanted = body.pointer_mut("/metadata/ownerReferences");
                if let Some(wanted) = wanted.and_then(Value::as_array_mut) {
                    wanted.push(reference);
                }
            }
            Some(_) | None => {}
        }
        Ok(body)
    }

    async fn patch(&self, body: &Value) -> Result<WriteResponse, cluster::Error> {
        let options = WriteOptions {
            manager: self.owner.manager.to_string(),
            force: self.forces(),
            ..WriteOptions::default()
        };
        let object = &self.target.object;
        let mut body = body.clone();
        if let Some(live) = self.live.as_ref().filter(|_| self.options.owner) {
            body["metadata"]["uid"] = json!(live.uid);
        }
        let body = Bytes::from(body.to_string());
        self.cluster.apply(object, body, &options).await
    }

    /// Returns whether the apply takes fields from other managers.
    fn forces(&self) -> bool {
        let force = self.options.force.or(self.owner.force);
        force.unwrap_or(self.options.owner)
    }

    async fn delete(&self) -> Result<(), Error> {
        let options = DeleteOptions {
            uid: self.live.as_ref().map(|live| live.uid.to_string()),
            ..DeleteOptions::default()
        };
        match self.cluster.delete(&self.target.object, &options).await? {
            DeleteResult::Gone | DeleteResult::Absent => Ok(()),
            DeleteResult::Marked(_) => Err(self.recreating()),
        }
    }

    fn recreating(&self) -> Error {
        Error::Recreating {
            object: self.target.object.clone(),
        }
    }

    fn skipped_result(&self, live: &Arc<Object>) -> ApplyResult {
        ApplyResult {
            object: Arc::clone(live),
            before: None,
            action: Action::Skipped,
            adopted: false,
            pruned_fields: Vec::new(),
            ownership: self.ownership,
            subscription: self.subscription.clone(),
        }
    }

    fn into_result(
        self,
        digest: u128,
        body: &Value,
        written: WriteResponse,
        recreated: bool,
    ) -> ApplyResult {
        let object = ParsedObject::new(written.object);
        let action = match written.effect {
            _ if recreated => Action::Recreated,
            Effect::Created => Action::Created,
            Effect::Unchanged => Action::Unchanged,
            Effect::Changed if written.planned => self.planned_action(&object),
            Effect::Changed => Action::Changed,
        };
        if !written.planned {
            if action == Action::Created && self.ownership.is_owned() {
                self.cache.record_creation(&self.target.object);
            }
            self.store_last_applied(LastApplied::new(digest, self.owner, &object, body));
        }
        ApplyResult {
            adopted: self.adopts,
            before: self.live.map(ParsedObject::into_object),
            action,
            pruned_fields: pruned_fields::find_pruned_fields(
                body,
                object.value(),
                &written.warnings,
            ),
            ownership: self.ownership,
            subscription: self.subscription.clone(),
            object: object.into_object(),
        }
    }

    /// Returns the action of a planned write. Its answer has the old resourceVersion in any case.
    fn planned_action(&self, after: &Object) -> Action {
        let same = |before: &ParsedObject| diff::is_equivalent(before, after);
        if self.live.as_ref().is_some_and(same) {
            Action::Unchanged
        } else {
            Action::Changed
        }
    }

    fn last_applied(&self) -> Option<Arc<LastApplied>> {
        match self.ownership {
            Ownership::None | Ownership::Informational => self
                .cache
                .last_applied(&self.owner.manager, &self.target.object),
            _ => self.cluster.record(&self.target.object)?.downcast().ok(),
        }
    }

    fn store_last_applied(&self, memo: LastApplied) {
        let memo = Arc::new(memo);
        match self.ownership {
            Ownership::None | Ownership::Informational => {
                (self.cache).store(&self.owner.manager, &self.target.object, memo);
            }
            _ => self.cluster.set_record(&self.target.object, memo),
        }
    }
}
