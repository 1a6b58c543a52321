//! The steps of one apply; [`super::apply`] tells the whole.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::desired::keep_finalizers_of;
use super::memo::{self, Memo};
use super::place::{Ownership, Place};
use super::{
    Action, Applied, Desired, Error, Memory, Options, Owner, created, diff, dropped, refusal,
};
use crate::cluster::Cluster;
use crate::cluster::read::Read;
use crate::cluster::request::{DeleteOptions, Deleted, Effect, WriteOptions, Written};
use crate::model::{Object, ObjectRef, Parsed};

/// One apply, with all that it needs.
pub(super) struct Apply<'a> {
    cluster: &'a Cluster,
    memory: &'a Memory,
    owner: &'a Owner,
    desired: &'a Desired,
    options: Options,
    place: Place,
    ownership: Ownership,
    live: Option<Parsed>,
    subscribed: bool,
}

impl<'a> Apply<'a> {
    /// Finds out where the object lives, whose it will be, and what is there.
    pub(super) async fn prepare(
        cluster: &'a Cluster,
        memory: &'a Memory,
        owner: &'a Owner,
        desired: &'a Desired,
        options: Options,
    ) -> Result<Self, Error> {
        let place = desired.place(cluster, owner).await?;
        let mut read = Read {
            object: None,
            subscribed: false,
        };
        if options.owner && owner.is_live() {
            read = child(cluster, &place.object).await?;
        }
        let ownership = place.ownership(owner, options.owner, read.object.as_deref());
        if !ownership.is_owned() {
            read = cluster.read(&place.object).await?;
        }
        Ok(Self {
            cluster,
            memory,
            owner,
            desired,
            options,
            place,
            ownership,
            live: read.object.map(Parsed::new),
            subscribed: read.subscribed,
        })
    }

    pub(super) async fn run(mut self) -> Result<Applied, Error> {
        let digest = self.desired.digest(self.owner, self.ownership);
        let memo = self.memo();
        if let (Some(memo), Some(live)) = (&memo, &self.live)
            && memo.is_current(digest, live)
        {
            return Ok(self.skipped(live.object()));
        }
        let mut body = self.desired.body(&self.place, self.owner, self.ownership)?;
        self.look_closer().await?;
        if let Some(live) = &self.live {
            if live.deleting {
                keep_finalizers_of(&mut body, live);
            }
            let holds = match &memo {
                Some(memo) if memo.still_holds(digest, self.owner, live, &body) => true,
                _ => memo::matches(self.owner, live, &body),
            };
            if holds {
                self.remember(Memo::new(digest, self.owner, live, &body));
                return Ok(self.skipped(live.object()));
            }
        }
        if self.ownership.is_unreachable()
            && let Some(guard) = &self.owner.guard
        {
            guard.hold().await?;
        }
        self.prepare_to_give_up(memo.as_deref(), &body).await?;
        let (written, recreated) = self.send(&body).await?;
        Ok(self.conclude(digest, &body, written, recreated))
    }

    /// Before a write: what the caches cannot tell, and what has to be there first.
    async fn look_closer(&mut self) -> Result<(), Error> {
        if self.live.is_none() && self.ownership.is_owned() {
            if self.memory.was_just_made(&self.place.object) {
                check_owner(self.cluster, self.owner).await?;
            }
            if self.ownership.is_unreachable() {
                // Without an owner reference the server refuses nobody, so we have to look.
                let live = self.cluster.get(&self.place.object).await?;
                self.live = live.map(Parsed::new);
            }
        }
        if let Some(live) = &self.live {
            self.may_take(live)?;
        }
        Ok(())
    }

    /// Before an apply that may give a field up, or may take none from others: what our create owns
    /// becomes the apply's.
    async fn prepare_to_give_up(&self, memo: Option<&Memo>, body: &Value) -> Result<(), Error> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let keeps_all = |memo: &Memo| memo.asks_for_the_same(self.owner, live, body);
        let harmless = self.forces() && memo.is_some_and(keeps_all);
        if harmless || self.cluster.is_dry_run() || !created::is_left(self.owner, live) {
            return Ok(());
        }
        created::hand_over(self.cluster, self.owner, &self.place.object).await
    }

    /// Whether the cache of children tells that there is nothing, and all that the object needs is to
    /// be made.
    fn is_known_absent(&self) -> bool {
        self.live.is_none()
            && self.subscribed
            && self.ownership == Ownership::Reference
            && !self.cluster.is_dry_run()
    }

    fn may_take(&self, live: &Object) -> Result<(), Error> {
        match refusal::controller(self.owner, live) {
            Some(controller) if self.ownership.is_owned() && !self.options.adopt => {
                Err(Error::Controlled {
                    object: self.place.object.clone(),
                    controller,
                })
            }
            _ => Ok(()),
        }
    }

    /// Sends the apply, as often as the options allow to clear its way; whether the object was
    /// deleted for it.
    async fn send(&self, body: &Value) -> Result<(Written, bool), Error> {
        if self.options.recreate && self.live.as_ref().is_some_and(|live| live.deleting) {
            return Err(self.recreating());
        }
        let bytes = Bytes::from(body.to_string());
        if self.is_known_absent() {
            let created = created::create(self.cluster, self.owner, &self.place.object, &bytes);
            if let Some(written) = created.await? {
                return Ok((written, false));
            }
        }
        let error = match self.patch(bytes.clone()).await {
            Ok(written) => return Ok((written, false)),
            Err(error) => error,
        };
        if refusal::is_second_controller(&error) && self.ownership.is_owned() {
            self.take_over().await?;
            return Ok((self.patch(bytes).await?, false));
        }
        if !refusal::is_immutable(&error) {
            return Err(refusal::explain(self.cluster, self.owner, error).await);
        }
        if !self.options.recreate {
            return Err(Error::Immutable { error });
        }
        self.delete().await?;
        Ok((self.patch(bytes).await?, true))
    }

    async fn patch(&self, body: Bytes) -> Result<Written, crate::cluster::Error> {
        let options = WriteOptions {
            manager: self.owner.manager.to_string(),
            force: self.forces(),
            ..WriteOptions::default()
        };
        self.cluster.apply(&self.place.object, body, &options).await
    }

    /// Whether fields are taken from other managers.
    fn forces(&self) -> bool {
        let force = self.options.force.or(self.owner.force);
        force.unwrap_or(self.options.owner)
    }

    /// Takes the object from its controller, which stays an owner.
    async fn take_over(&self) -> Result<(), Error> {
        let Some(live) = self.cluster.get(&self.place.object).await? else {
            return Ok(());
        };
        self.may_take(&live)?;
        refusal::demote_controllers(self.cluster, self.owner, &live).await
    }

    async fn delete(&self) -> Result<(), Error> {
        let options = DeleteOptions {
            uid: self.live.as_ref().map(|live| live.uid.to_string()),
            ..DeleteOptions::default()
        };
        match self.cluster.delete(&self.place.object, &options).await? {
            Deleted::Gone | Deleted::Absent => Ok(()),
            Deleted::Marked(_) => Err(self.recreating()),
        }
    }

    fn recreating(&self) -> Error {
        Error::Recreating {
            object: self.place.object.clone(),
        }
    }

    fn skipped(&self, live: &Arc<Object>) -> Applied {
        Applied {
            object: Arc::clone(live),
            before: None,
            action: Action::Skipped,
            adopted: false,
            dropped: Vec::new(),
            ownership: self.ownership,
            subscribed: self.subscribed,
        }
    }

    fn conclude(self, digest: u128, body: &Value, written: Written, recreated: bool) -> Applied {
        let object = Parsed::new(written.object);
        let action = match written.effect {
            _ if recreated => Action::Recreated,
            Effect::Created => Action::Created,
            Effect::Unchanged => Action::Unchanged,
            Effect::Changed if self.cluster.is_dry_run() => self.planned(&object),
            Effect::Changed => Action::Changed,
        };
        if !self.cluster.is_dry_run() {
            if action == Action::Created && self.ownership.is_owned() {
                self.memory.made(&self.place.object);
            }
            self.remember(Memo::new(digest, self.owner, &object, body));
        }
        let foreign = |live: &Parsed| live.owner_uid().is_none();
        let existed = matches!(action, Action::Changed | Action::Unchanged);
        Applied {
            adopted: existed && self.ownership.is_owned() && self.live.as_ref().is_none_or(foreign),
            before: self.live.map(Parsed::into_object),
            action,
            dropped: dropped::fields(body, object.value(), &written.warnings),
            ownership: self.ownership,
            subscribed: self.subscribed,
            object: object.into_object(),
        }
    }

    /// What a dry-run would have done: its answer has the old resource version in any case.
    fn planned(&self, after: &Object) -> Action {
        let same = |before: &Parsed| diff::same(before, after);
        if self.live.as_ref().is_some_and(same) {
            Action::Unchanged
        } else {
            Action::Changed
        }
    }

    fn memo(&self) -> Option<Arc<Memo>> {
        match self.ownership {
            Ownership::None => self.memory.memo(&self.owner.manager, &self.place.object),
            _ => self.cluster.record(&self.place.object)?.downcast().ok(),
        }
    }

    fn remember(&self, memo: Memo) {
        let memo = Arc::new(memo);
        match self.ownership {
            Ownership::None => {
                (self.memory).remember(&self.owner.manager, &self.place.object, memo);
            }
            _ => self.cluster.set_record(&self.place.object, memo),
        }
    }
}

/// A child as the cache of children has it; as the server has it where there can be no such cache.
pub(super) async fn child(cluster: &Cluster, object: &ObjectRef) -> Result<Read, Error> {
    let namespace = object.namespace.as_deref();
    let children = cluster.children(&object.gvk, namespace);
    let subscribed = children.synced().await.is_ok();
    let object = if subscribed {
        children.get(namespace, &object.name)
    } else {
        cluster.get(object).await?
    };
    Ok(Read { object, subscribed })
}

/// A child that vanished right after we made it may have been made for a custom resource that is gone,
/// and collected: the cache of custom resources would be behind.
pub(super) async fn check_owner(cluster: &Cluster, owner: &Owner) -> Result<(), Error> {
    let live = cluster.unfenced().get(&owner.cr).await?;
    match live {
        Some(live) if live.uid == owner.uid => Ok(()),
        _ => Err(Error::OwnerGone {
            cr: owner.cr.clone(),
        }),
    }
}
