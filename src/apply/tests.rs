//! Applies, pruning and cleaning up, on an API server in this process.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{Method, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, from_value, json};
use tower::layer::layer_fn;
use tower::{ServiceExt, service_fn};

use super::{
    Action, ApplyCache, ApplyResult, ChildList, DesiredObject, Error, Options, Owner, Ownership,
    apply, cleanup, create_once, finalizer, inventory, prune, target,
};
use crate::cluster::connect::{self, Source, connect};
use crate::cluster::request::DeleteResult;
use crate::cluster::{Cluster, Transport};
use crate::model::annotations::{CHILDREN, CLEANUP_FINALIZER, OWNER_LABEL};
use crate::model::{Gvk, Object, ObjectRef};
use embedded_apiserver::{self as apiserver, ApiServer};

/// A server with a custom resource: a ConfigMap, for the server owns by any kind alike.
struct Fixture {
    cluster: Cluster,
    cache: ApplyCache,
    cr: Arc<Object>,
    owner: Owner,
    /// As somebody else reaches it.
    others: Api<ConfigMap>,
    client: kube::Client,
}

/// The bounds of a hook.
trait Hook: Clone + Send + Sync + 'static {}

impl<T: Clone + Send + Sync + 'static> Hook for T {}

async fn reach(client: &kube::Client) -> Cluster {
    let connection = connect(connect::Options {
        source: Source::Client(client.clone()),
        ..connect::Options::default()
    });
    connection.await.unwrap().cluster
}

fn map_ref(name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some("default"), name)
}

fn map(name: &str, metadata: &Value, value: &str) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": value},
    });
    object["metadata"]["name"] = name.into();
    object
}

impl Fixture {
    async fn new() -> Self {
        let server = ApiServer::new(apiserver::Options::default());
        let client = server.client();
        let others: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let cr = from_value(map("cr", &json!({}), "1")).unwrap();
        others.create(&PostParams::default(), &cr).await.unwrap();
        let cluster = reach(&client).await;
        let cr = cluster.get(&map_ref("cr")).await.unwrap().unwrap();
        Self {
            cluster,
            cache: ApplyCache::default(),
            owner: Owner::new(&cr),
            cr,
            others,
            client,
        }
    }

    /// A process that has seen nothing yet.
    async fn restart(&mut self) {
        self.cluster = reach(&self.client).await;
        self.cache = ApplyCache::default();
    }

    /// Lets something happen just before each request that `picks` goes out.
    fn before<F>(&mut self, picks: fn(&Request<Body>) -> bool, happens: impl Fn() -> F + Hook)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let layer = layer_fn(move |inner: Transport| {
            let happens = happens.clone();
            service_fn(move |request: Request<Body>| {
                let first = picks(&request).then(&happens);
                let inner = inner.clone();
                async move {
                    if let Some(first) = first {
                        first.await;
                    }
                    inner.oneshot(request).await
                }
            })
        });
        self.cluster = self.cluster.with_layer(&layer);
    }

    async fn try_apply(&self, object: &Value, options: Options) -> Result<ApplyResult, Error> {
        let desired = DesiredObject::from_value(object).unwrap();
        apply(&self.cluster, &self.cache, &self.owner, &desired, options).await
    }

    async fn apply(&self, object: &Value) -> ApplyResult {
        self.try_apply(object, Options::default()).await.unwrap()
    }

    async fn patch(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let params = PatchParams::default();
        self.others.patch(name, &params, &patch).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        let params = DeleteParams::default();
        self.others.delete(name, &params).await.unwrap();
    }

    /// Waits until the cache of children contains an object, or no longer contains it.
    async fn until(&self, name: &str, is: impl Fn(Option<&Object>) -> bool) {
        let reference = map_ref(name);
        let children = self.cluster.children(&reference.gvk, Some("default"));
        while !is(children.get(Some("default"), name).as_deref()) {
            tokio::task::yield_now().await;
        }
    }

    async fn is_there(&self, reference: &ObjectRef) -> bool {
        self.cluster.get(reference).await.unwrap().is_some()
    }
}

#[tokio::test]
async fn only_a_changed_desired_object_is_sent() {
    let fixture = Fixture::new().await;
    assert_eq!(
        fixture.apply(&map("a", &json!({}), "1")).await.action,
        Action::Created
    );
    assert_eq!(
        fixture.apply(&map("a", &json!({}), "1")).await.action,
        Action::Skipped
    );
    assert_eq!(
        fixture.apply(&map("a", &json!({}), "2")).await.action,
        Action::Changed
    );
    let live = fixture.others.get("a").await.unwrap();
    assert_eq!(live.data.unwrap()["key"], "2");
}

#[tokio::test]
async fn pruning_keeps_what_is_applied_labelled_or_going() {
    let fixture = Fixture::new().await;
    for name in ["kept", "gone"] {
        fixture.apply(&map(name, &json!({}), "1")).await;
    }
    let never = json!({"labels": {"rhai.operator/prune": "never"}});
    fixture.apply(&map("labelled", &never, "1")).await;
    let held = json!({"finalizers": ["ex.io/keep"]});
    fixture.apply(&map("going", &held, "1")).await;
    fixture.delete("going").await;
    fixture
        .until("going", |one| one.is_some_and(|one| one.deleting))
        .await;
    let kept = BTreeSet::from([map_ref("kept")]);
    let mut in_deletion = fixture.owner.clone();
    in_deletion.finalizing = true;
    let pruned = prune::prune(&fixture.cluster, &in_deletion, &kept).await;
    assert!(
        pruned.deleted.is_empty(),
        "a deletion run prunes nothing: {pruned:?}"
    );
    let pruned = prune::prune(&fixture.cluster, &fixture.owner, &kept).await;
    assert!(pruned.failed.is_empty(), "{pruned:?}");
    let names: Vec<&str> = pruned.deleted.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["gone"]);
}

#[tokio::test]
async fn a_new_object_with_the_same_name_is_not_deleted() {
    let fixture = Fixture::new().await;
    let old = fixture.apply(&map("a", &json!({}), "1")).await.object;
    fixture.delete("a").await;
    let anew = from_value(map("a", &json!({}), "2")).unwrap();
    let anew = fixture
        .others
        .create(&PostParams::default(), &anew)
        .await
        .unwrap();
    let deleted = prune::delete(&fixture.cluster, &old).await.unwrap();
    assert!(matches!(deleted, DeleteResult::Absent));
    let there = fixture.others.get("a").await.unwrap();
    assert_eq!(there.metadata.uid, anew.metadata.uid);
}

#[tokio::test]
async fn a_label_alone_makes_no_child() {
    let fixture = Fixture::new().await;
    let labels = json!({"labels": {OWNER_LABEL: fixture.owner.uid}});
    let copied = from_value(map("copied", &labels, "1")).unwrap();
    fixture
        .others
        .create(&PostParams::default(), &copied)
        .await
        .unwrap();
    fixture.apply(&map("child", &json!({}), "1")).await;
    fixture.until("copied", |one| one.is_some()).await;
    let children = inventory::children(&fixture.cluster, &fixture.owner);
    let names: Vec<&str> = children.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["child"]);
}

#[tokio::test]
async fn fields_of_others_are_taken_only_where_we_own_the_object() {
    let fixture = Fixture::new().await;
    for name in ["a", "b"] {
        let theirs = from_value(map(name, &json!({}), "theirs")).unwrap();
        fixture
            .others
            .create(&PostParams::default(), &theirs)
            .await
            .unwrap();
    }
    let not_owned = Options {
        owner: false,
        ..Options::default()
    };
    let refused = fixture
        .try_apply(&map("a", &json!({}), "ours"), not_owned)
        .await;
    assert!(refused.is_err(), "{refused:?}");
    let wanted = map("b", &json!({}), "ours");
    let refused = fixture.try_apply(&wanted, Options::default()).await;
    assert!(
        matches!(refused, Err(Error::NotOwned { .. })),
        "{refused:?}"
    );
    let adopt = Options {
        adopt: Some(true),
        ..Options::default()
    };
    let adopted = fixture.try_apply(&wanted, adopt).await.unwrap();
    assert!(adopted.adopted);
}

#[tokio::test]
async fn an_object_created_just_before_a_write_is_not_adopted() {
    // In the first round the object is absent and would be created, in the second it is an existing child.
    for exists in [false, true] {
        let mut fixture = Fixture::new().await;
        if exists {
            fixture.apply(&map("a", &json!({}), "1")).await;
        }
        let others = fixture.others.clone();
        fixture.before(
            |request| matches!(*request.method(), Method::POST | Method::PATCH),
            move || {
                let others = others.clone();
                async move {
                    let theirs = from_value(map("a", &json!({}), "theirs")).unwrap();
                    let _ = others.delete("a", &DeleteParams::default()).await;
                    others
                        .create(&PostParams::default(), &theirs)
                        .await
                        .unwrap();
                }
            },
        );
        let refused = fixture
            .try_apply(&map("a", &json!({}), "2"), Options::default())
            .await;
        assert!(
            matches!(refused, Err(Error::NotOwned { .. })),
            "{refused:?}"
        );
        let there = fixture.others.get("a").await.unwrap();
        assert_eq!(there.data.unwrap()["key"], "theirs", "exists: {exists}");
    }
}

#[tokio::test]
async fn a_deletion_run_takes_nothing_over_either() {
    let fixture = Fixture::new().await;
    let theirs = from_value(map("a", &json!({}), "theirs")).unwrap();
    fixture
        .others
        .create(&PostParams::default(), &theirs)
        .await
        .unwrap();
    let owners = [
        Owner {
            finalizing: true,
            ..fixture.owner.clone()
        },
        // A custom resource out of a file, that no cluster holds.
        Owner {
            uid: "".into(),
            ..fixture.owner.clone()
        },
    ];
    for owner in owners {
        let desired = DesiredObject::from_value(&map("a", &json!({}), "2")).unwrap();
        let Fixture { cluster, cache, .. } = &fixture;
        let refused = apply(cluster, cache, &owner, &desired, Options::default()).await;
        assert!(
            matches!(refused, Err(Error::NotOwned { .. })),
            "{refused:?}"
        );
        let own = DesiredObject::from_value(&map("b", &json!({}), "2")).unwrap();
        for _ in 0..2 {
            apply(cluster, cache, &owner, &own, Options::default())
                .await
                .unwrap();
        }
    }
}

#[tokio::test]
async fn a_terminating_child_gets_no_finalizer_back() {
    let fixture = Fixture::new().await;
    let finalizers = |names: &[&str]| json!({"finalizers": names});
    fixture
        .apply(&map("a", &finalizers(&["ex.io/keep"]), "1"))
        .await;
    fixture.delete("a").await;
    fixture
        .until("a", |one| one.is_some_and(|one| one.deleting))
        .await;
    let more = finalizers(&["ex.io/keep", "ex.io/more"]);
    let applied = fixture.apply(&map("a", &more, "2")).await;
    assert_eq!(applied.object.details().finalizers, ["ex.io/keep"]);
}

#[tokio::test]
async fn no_child_is_made_again_for_a_custom_resource_that_is_gone() {
    let fixture = Fixture::new().await;
    fixture.apply(&map("a", &json!({}), "1")).await;
    fixture.delete("cr").await;
    fixture.until("a", |one| one.is_none()).await;
    let error = fixture
        .try_apply(&map("a", &json!({}), "1"), Options::default())
        .await;
    assert!(matches!(error, Err(Error::OwnerGone { .. })), "{error:?}");
    assert!(!fixture.is_there(&map_ref("a")).await);
}

#[tokio::test]
async fn a_child_recreated_by_a_deletion_run_has_no_owner() {
    let fixture = Fixture::new().await;
    let kind = fixture
        .cluster
        .kind(&map_ref("a").gvk)
        .await
        .unwrap()
        .unwrap();
    let target = target::ApplyTarget {
        kind,
        object: map_ref("a"),
    };
    let ours = fixture.apply(&map("a", &json!({}), "1")).await.object;
    let mut owner = fixture.owner.clone();
    assert_eq!(target.ownership(&owner, true, None), Ownership::Reference);
    owner.finalizing = true;
    assert_eq!(
        target.ownership(&owner, true, None),
        Ownership::Informational
    );
    assert_eq!(
        target.ownership(&owner, true, Some(&ours)),
        Ownership::Reference
    );
}

#[tokio::test]
async fn cleaning_up_waits_for_what_comes_first() {
    let mut fixture = Fixture::new().await;
    let elsewhere = json!({"namespace": "kube-public"});
    guarded(&mut fixture).await;
    let map = map("a", &elsewhere, "1");
    fixture.apply(&map).await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "kube-public", "finalizers": ["ex.io/keep"]},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    fixture.apply(&deployment).await;
    guarded(&mut fixture).await;
    let left = cleanup::clean_up(&fixture.cluster, &fixture.owner)
        .await
        .unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    let map = ObjectRef::new(map_ref("a").gvk, Some("kube-public"), "a");
    assert!(fixture.is_there(&map).await);
}

#[tokio::test]
async fn a_finalizer_is_not_put_on_another_of_the_name() {
    let fixture = Fixture::new().await;
    fixture.delete("cr").await;
    let anew = from_value(map("cr", &json!({}), "2")).unwrap();
    fixture
        .others
        .create(&PostParams::default(), &anew)
        .await
        .unwrap();
    let add = |_: &Object, _: &[String]| vec!["ex.io/f".to_owned()];
    let written = finalizer::update_finalizers(&fixture.cluster, &fixture.cr, None, add).await;
    assert!(written.unwrap().is_none());
    let there = fixture.others.get("cr").await.unwrap();
    assert_eq!(there.metadata.finalizers, None);
    fixture.patch("cr", json!({"data": {"key": "3"}})).await;
}

#[tokio::test]
async fn after_a_restart_a_child_that_was_changed_needs_no_request() {
    let mut fixture = Fixture::new().await;
    fixture.apply(&map("a", &json!({}), "1")).await;
    fixture.apply(&map("a", &json!({}), "2")).await;
    let managers = fixture
        .others
        .get("a")
        .await
        .unwrap()
        .metadata
        .managed_fields;
    let operations = managers
        .into_iter()
        .flatten()
        .filter_map(|one| one.operation);
    let operations: BTreeSet<String> = operations.collect();
    assert_eq!(
        operations.len(),
        2,
        "its create is told from its apply: {operations:?}"
    );
    fixture.restart().await;
    let again = fixture.apply(&map("a", &json!({}), "2")).await;
    assert_eq!(again.action, Action::Skipped);
}

#[tokio::test]
async fn a_recreation_does_not_delete_a_new_object_with_the_same_name() {
    let mut fixture = Fixture::new().await;
    let fixed = |value: &str| {
        let mut object = map("a", &json!({}), value);
        object["immutable"] = true.into();
        object
    };
    fixture.apply(&fixed("1")).await;
    let others = fixture.others.clone();
    let made = Arc::new(Mutex::new(None));
    let uid = Arc::clone(&made);
    fixture.before(
        |request| request.method() == Method::DELETE,
        move || {
            let (others, uid) = (others.clone(), Arc::clone(&uid));
            async move {
                others.delete("a", &DeleteParams::default()).await.unwrap();
                let theirs = from_value(map("a", &json!({}), "theirs")).unwrap();
                let theirs = others.create(&PostParams::default(), &theirs).await;
                *uid.lock() = theirs.unwrap().metadata.uid;
            }
        },
    );
    let recreate = Options {
        recreate: true,
        ..Options::default()
    };
    let refused = fixture.try_apply(&fixed("2"), recreate).await;
    assert!(refused.is_err(), "{refused:?}");
    let made = made.lock().take();
    assert!(made.is_some(), "somebody was quicker");
    assert_eq!(made, fixture.others.get("a").await.unwrap().metadata.uid);
}

#[tokio::test]
async fn the_guard_is_there_before_what_it_guards() {
    let mut fixture = Fixture::new().await;
    let others = fixture.others.clone();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let guarded = Arc::clone(&seen);
    fixture.before(
        |request| {
            let is_write = request.method() != Method::GET;
            is_write && request.uri().path().contains("/namespaces/kube-public/")
        },
        move || {
            let (others, guarded) = (others.clone(), Arc::clone(&guarded));
            async move {
                let cr = others.get("cr").await.unwrap();
                let list = cr.metadata.annotations.unwrap_or_default();
                let finalizers = cr.metadata.finalizers.unwrap_or_default();
                guarded.lock().push((finalizers, list[CHILDREN].clone()));
            }
        },
    );
    let elsewhere = json!({"namespace": "kube-public"});
    for by_apply in [true, false] {
        let cr = fixture.cluster.get(&map_ref("cr")).await.unwrap().unwrap();
        let guard = finalizer::ChildRegistrar::new(fixture.cluster.clone(), cr, None, true);
        fixture.owner.registrar = Some(Arc::new(guard));
        if by_apply {
            fixture.apply(&map("a", &elsewhere, "1")).await;
        } else {
            let desired = DesiredObject::from_value(&map("b", &elsewhere, "1")).unwrap();
            let Fixture {
                cluster,
                cache,
                owner,
                ..
            } = &fixture;
            let made = create_once::create_once(cluster, cache, owner, &desired).await;
            assert!(made.unwrap().is_unreachable);
        }
        let seen = std::mem::take(&mut *seen.lock());
        let name = if by_apply { "a" } else { "b" };
        let list = format!(r#"["ConfigMap kube-public/{name}"]"#);
        let finalizers = vec![CLEANUP_FINALIZER.to_owned()];
        assert_eq!(seen, [(finalizers, list)], "by apply: {by_apply}");
        let nothing = json!({"finalizers": null, "annotations": null});
        fixture.patch("cr", json!({"metadata": nothing})).await;
    }
}

/// Lists children on the custom resource as the operator does.
async fn guarded(fixture: &mut Fixture) {
    let cr = fixture.cluster.get(&map_ref("cr")).await.unwrap().unwrap();
    fixture.owner.listed_children = Arc::new(ChildList::read_from(&cr));
    let guard = finalizer::ChildRegistrar::new(fixture.cluster.clone(), cr, None, true);
    fixture.owner.registrar = Some(Arc::new(guard));
}

#[tokio::test]
async fn the_list_is_written_when_it_changes_and_goes_with_the_last_child() {
    let mut fixture = Fixture::new().await;
    guarded(&mut fixture).await;
    let elsewhere = json!({"namespace": "kube-public"});
    let version = async |fixture: &Fixture| {
        fixture
            .others
            .get("cr")
            .await
            .unwrap()
            .metadata
            .resource_version
    };
    fixture.apply(&map("a", &elsewhere, "1")).await;
    let listed = version(&fixture).await;
    guarded(&mut fixture).await;
    for value in ["1", "2"] {
        fixture.apply(&map("a", &elsewhere, value)).await;
    }
    assert_eq!(version(&fixture).await, listed);
    let a = ObjectRef::new(map_ref("a").gvk, Some("kube-public"), "a");
    let forget = async |fixture: &Fixture, kept: &[ObjectRef]| {
        let cr = fixture.cluster.get(&map_ref("cr")).await.unwrap().unwrap();
        let kept = kept.iter().cloned().collect();
        prune::update_child_list(&fixture.cluster, &fixture.owner, &cr, &kept)
            .await
            .unwrap()
            .unwrap()
    };
    // Applied, or there: listed.
    for kept in [vec![a.clone()], vec![]] {
        let cr = forget(&fixture, &kept).await;
        assert!(ChildList::read_from(&cr).contains(&a));
        assert_eq!(cr.details().finalizers, [CLEANUP_FINALIZER]);
    }
    let pruned = prune::prune(&fixture.cluster, &fixture.owner, &BTreeSet::new()).await;
    assert_eq!(pruned.deleted.len(), 1, "{pruned:?}");
    let cr = forget(&fixture, &[]).await;
    assert!(ChildList::read_from(&cr).is_empty());
    assert!(cr.details().finalizers.is_empty());
    assert!(!cr.json().contains(CHILDREN));
}

#[tokio::test]
async fn a_listed_object_that_is_not_marked_is_left() {
    let mut fixture = Fixture::new().await;
    guarded(&mut fixture).await;
    let elsewhere = json!({"namespace": "kube-public"});
    fixture.apply(&map("a", &elsewhere, "1")).await;
    // A tenant lists what is not theirs, and has it labelled: its field manager is another.
    let client = fixture.client.clone();
    let public = Api::<ConfigMap>::namespaced(client, "kube-public");
    let labels = json!({"labels": {OWNER_LABEL: fixture.owner.uid}});
    for (name, metadata) in [("labelled", labels), ("plain", json!({}))] {
        let victim = from_value(map(name, &metadata, "1")).unwrap();
        public
            .create(&PostParams::default(), &victim)
            .await
            .unwrap();
    }
    let list = r#"["ConfigMap kube-public/labelled","ConfigMap kube-public/plain"]"#;
    let annotations = json!({"annotations": {CHILDREN: list}});
    fixture.patch("cr", json!({"metadata": annotations})).await;
    guarded(&mut fixture).await;
    let cluster = &fixture.cluster;
    inventory::discover_child_kinds(cluster, None)
        .await
        .unwrap();
    let gvk = map_ref("a").gvk;
    let children = cluster.children(&gvk, Some("kube-public"));
    while children.get(Some("kube-public"), "labelled").is_none() {
        tokio::task::yield_now().await;
    }
    let pruned = prune::prune(cluster, &fixture.owner, &BTreeSet::new()).await;
    assert!(pruned.deleted.is_empty(), "{pruned:?}");
    let left = cleanup::clean_up(cluster, &fixture.owner).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    // What the role applies again is listed again.
    fixture.apply(&map("a", &elsewhere, "1")).await;
    let cr = fixture.cluster.get(&map_ref("cr")).await.unwrap().unwrap();
    let a = ObjectRef::new(gvk, Some("kube-public"), "a");
    assert!(ChildList::read_from(&cr).contains(&a));
}

#[tokio::test]
async fn a_plan_makes_nothing_and_remembers_nothing() {
    let mut fixture = Fixture::new().await;
    let real = fixture.cluster.clone();
    fixture.apply(&map("there", &json!({}), "1")).await;
    fixture.cluster = real.with_dry_run();
    let planned = fixture.apply(&map("a", &json!({}), "1")).await;
    assert_eq!(planned.action, Action::Created);
    let planned = fixture.apply(&map("there", &json!({}), "2")).await;
    assert_eq!(planned.action, Action::Changed);
    let desired = DesiredObject::from_value(&map("b", &json!({}), "1")).unwrap();
    let planned =
        create_once::create_once(&fixture.cluster, &fixture.cache, &fixture.owner, &desired).await;
    assert!(planned.unwrap().is_new);
    let pruned = prune::prune(&fixture.cluster, &fixture.owner, &BTreeSet::new()).await;
    assert_eq!(pruned.deleted.len(), 1, "{pruned:?}");
    for name in ["a", "b"] {
        assert!(!fixture.is_there(&map_ref(name)).await, "{name}");
    }
    let there = fixture.others.get("there").await.unwrap();
    assert_eq!(there.data.unwrap()["key"], "1");
    fixture.cluster = real;
    assert_eq!(
        fixture.apply(&map("there", &json!({}), "1")).await.action,
        Action::Skipped
    );
    assert_eq!(
        fixture.apply(&map("a", &json!({}), "1")).await.action,
        Action::Created
    );
}

/// Records the bodies of all creates.
fn record_creates(cluster: &Cluster, bodies: &Arc<Mutex<Vec<Value>>>) -> Cluster {
    let bodies = Arc::clone(bodies);
    let layer = layer_fn(move |inner: Transport| {
        let bodies = Arc::clone(&bodies);
        service_fn(move |request: Request<Body>| {
            let (inner, bodies) = (inner.clone(), Arc::clone(&bodies));
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect_bytes().await?;
                if parts.method == Method::POST {
                    bodies
                        .lock()
                        .extend(serde_json::from_slice::<Value>(&bytes).ok());
                }
                inner
                    .oneshot(Request::from_parts(parts, bytes.into()))
                    .await
            }
        })
    });
    cluster.with_layer(&layer)
}

#[tokio::test]
async fn a_plan_lets_the_server_generate_names() {
    let fixture = Fixture::new().await;
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let cluster = record_creates(&fixture.cluster, &bodies).with_dry_run();
    let mut object = map("", &json!({"generateName": "job-"}), "1");
    for namespace in ["default", "kube-public"] {
        object["metadata"]["namespace"] = namespace.into();
        let desired = DesiredObject {
            gvk: map_ref("").gvk,
            namespace: Some(namespace.into()),
            name: "".into(),
            json: object.to_string().into_bytes(),
        };
        let planned =
            create_once::create_once(&cluster, &fixture.cache, &fixture.owner, &desired).await;
        let name = &planned.unwrap().object.name;
        assert!(name.starts_with("job-"), "{name}");
    }
    let bodies = std::mem::take(&mut *bodies.lock());
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    for body in bodies {
        let metadata = &body["metadata"];
        assert_eq!(metadata["generateName"], "job-");
        assert!(
            metadata["name"].as_str().is_none_or(str::is_empty),
            "{metadata}"
        );
    }
}
