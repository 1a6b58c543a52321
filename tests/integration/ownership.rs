//! Existing objects of other owners, which a custom resource must not take over.

use anyhow::ensure;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use test_harness::{Case, Crd, Operator, Project, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_tenant_cannot_take_the_name_of_a_service,
        adoption_is_reported,
        a_secret_of_another_owner_is_not_a_generated_one,
        ensure_does_not_delete_objects_of_others,
        children_of_an_earlier_custom_resource_are_waited_for,
        an_included_role_may_do_what_both_may,
    ]
}

const WATCHES: &str = "- {group: '{group}', version: v1, kind: Web, role: web}";

const SERVICE: &str = r#"
    k8s_apply(#{apiVersion: "v1", kind: "Service", metadata: #{name: meta.name},
                spec: #{selector: #{app: "tenant"}, ports: [#{port: 5432}]}});
"#;

/// A tenant's custom resource.
async fn make(case: &Case, webs: &Api<DynamicObject>, name: &str) -> anyhow::Result<()> {
    let web = json!({
        "apiVersion": format!("{}/v1", case.group), "kind": "Web",
        "metadata": {"name": name}, "spec": {},
    });
    let web = serde_json::from_value(web)?;
    webs.create(&PostParams::default(), &web).await?;
    Ok(())
}

/// Waits for a condition of that type and reason; returns its message.
async fn until(
    webs: &Api<DynamicObject>,
    name: &str,
    kind: &str,
    reason: &str,
) -> anyhow::Result<String> {
    eventually(SOON, reason, || async {
        let web = webs.get(name).await?;
        let list = web.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is = |entry: &&Value| entry["type"] == kind && entry["reason"] == reason;
        let found = list.iter().find(is);
        let message = found.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned());
        message.ok_or_else(|| anyhow::anyhow!("{list:?}"))
    })
    .await
}

async fn until_gone(webs: &Api<DynamicObject>, name: &str) -> anyhow::Result<()> {
    eventually(SOON, "the end of the custom resource", || async {
        let left = webs.get_opt(name).await?;
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    })
    .await
}

/// Somebody else's Service `db`.
async fn make_service(case: &Case) -> anyhow::Result<Service> {
    let service = json!({
        "metadata": {"name": "db"},
        "spec": {"selector": {"app": "database"}, "ports": [{"port": 5432}]},
    });
    let service = serde_json::from_value(service)?;
    let services = case.objects::<Service>();
    Ok(services.create(&PostParams::default(), &service).await?)
}

async fn a_tenant_cannot_take_the_name_of_a_service(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let project = Project::new(&case, WATCHES)?.with_role(&case, "web", SERVICE)?;
    let services = case.objects::<Service>();
    let before = make_service(&case).await?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs, "db").await?;
    let message = until(&webs, "db", "Ready", "Failed").await?;
    assert!(
        message.contains("it has no owner") && message.contains("hint: set `adopt: true`"),
        "{message}"
    );
    let after = services.get("db").await?;
    assert_eq!(
        after.metadata.resource_version,
        before.metadata.resource_version
    );
    // The deletion of the custom resource takes nothing along that was never its own.
    webs.delete("db", &DeleteParams::default()).await?;
    until_gone(&webs, "db").await?;
    assert!(
        services
            .get("db")
            .await?
            .metadata
            .deletion_timestamp
            .is_none()
    );
    // Once the Service is out of the way, the role runs without being asked.
    make(&case, &webs, "db").await?;
    until(&webs, "db", "Ready", "Failed").await?;
    services.delete("db", &DeleteParams::default()).await?;
    until(&webs, "db", "Ready", "Reconciled").await?;
    let own = services.get("db").await?;
    let owners = own.metadata.owner_references.unwrap_or_default();
    assert_eq!(owners[0].kind, "Web");
    Ok(())
}

async fn adoption_is_reported(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let watches = WATCHES.replace("role: web", "role: web, adopt: true");
    let project = Project::new(&case, &watches)?.with_role(&case, "web", SERVICE)?;
    make_service(&case).await?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs, "db").await?;
    until(&webs, "db", "Ready", "Reconciled").await?;
    let service = case.objects::<Service>().get("db").await?;
    let owners = service.metadata.owner_references.unwrap_or_default();
    assert_eq!(owners[0].controller, Some(true));
    eventually(SOON, "an Event", || async {
        let events = case.objects::<Event>().list(&ListParams::default()).await?;
        let told = |event: &Event| {
            let note = event.note.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some("Adopted")
                && event.type_.as_deref() == Some("Normal")
                && note.contains("Service")
        };
        ensure!(events.items.iter().any(told), "no such Event");
        Ok(())
    })
    .await
}

async fn a_secret_of_another_owner_is_not_a_generated_one(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let script = r#"ensure_secret("admin", || #{password: "generated-value"});"#;
    let project = Project::new(&case, WATCHES)?.with_role(&case, "web", script)?;
    case.apply(
        "{apiVersion: v1, kind: Secret, metadata: {name: admin}, stringData: {password: planted}}",
    )
    .await?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs, "a").await?;
    let message = until(&webs, "a", "Ready", "Failed").await?;
    assert!(message.contains("read it with k8s_get"), "{message}");
    Ok(())
}

async fn ensure_does_not_delete_objects_of_others(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let script = r#"
        k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: "own"}});
        for name in ["own", "theirs"] {
            k8s_ensure(false, #{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: name}});
        }
    "#;
    let project = Project::new(&case, WATCHES)?.with_role(&case, "web", script)?;
    case.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}")
        .await?;
    let maps = case.objects::<ConfigMap>();
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs, "a").await?;
    until(&webs, "a", "Ready", "Reconciled").await?;
    assert!(
        maps.get("theirs")
            .await?
            .metadata
            .deletion_timestamp
            .is_none()
    );
    Ok(())
}

async fn children_of_an_earlier_custom_resource_are_waited_for(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let script = r#"
        k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: "c"}});
    "#;
    let project = Project::new(&case, WATCHES)?.with_role(&case, "web", script)?;
    let maps = case.objects::<ConfigMap>();
    // The finalizer keeps the child while garbage collection removes it.
    let left = json!({"metadata": {
        "name": "c", "finalizers": ["example.com/hold"], "ownerReferences": [{
            "apiVersion": format!("{}/v1", case.group), "kind": "Web", "name": "a",
            "uid": "00000000-0000-4000-8000-000000000000", "controller": true,
        }],
    }});
    let left = serde_json::from_value(left)?;
    let left = maps.create(&PostParams::default(), &left).await?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs, "a").await?;
    let message = until(&webs, "a", "Ready", "Waiting").await?;
    assert!(message.contains("garbage collection"), "{message}");
    eventually(SOON, "the collector", || async {
        let child = maps.get("c").await?;
        ensure!(child.metadata.deletion_timestamp.is_some(), "not yet");
        Ok(())
    })
    .await?;
    let release = json!({"metadata": {"finalizers": null}});
    let release = kube::api::Patch::Merge(release);
    maps.patch("c", &kube::api::PatchParams::default(), &release)
        .await?;
    until(&webs, "a", "Ready", "Reconciled").await?;
    assert_ne!(maps.get("c").await?.metadata.uid, left.metadata.uid);
    Ok(())
}

/// A script that tries each restricted call and writes to the status which of them succeeded.
const TRIES: &str = r#"
        let own = meta.namespace;
        let other = own + "-other";
        let calls = #{
            get_own: || k8s_get("v1", "ConfigMap", "kube-root-ca.crt"),
            get_other: || k8s_get("v1", "ConfigMap", "kube-root-ca.crt", other),
            get_named: || k8s_get("v1", "ConfigMap", "named"),
            list_own: || k8s_list("v1", "ConfigMap"),
            list_all: || k8s_list("v1", "ConfigMap", #{namespace: "*"}),
            list_nodes: || k8s_list("v1", "Node"),
            apply: || k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: "made"}}),
            env: || env("HOME"),
        };
        let allowed = [];
        for name in calls.keys() {
            try {
                calls[name].call();
                allowed.push(name);
            } catch (error) {
                if error.kind != "forbidden" { throw error; }
                if !error.message.contains("meta/main.yaml") { throw error; }
            }
        }
        set_status(#{NAME: allowed});
"#;

/// A role, and three that it includes with other permissions.
fn roles(case: &Case) -> anyhow::Result<Project> {
    let outer = r#"
        include_role("free");
        include_role("fenced");
        include_role("named");
    "#;
    let meta = |rules: &str| format!("permissions:\n  api: [{rules}]\n  env: [HOME]\n");
    let read = "verbs: [get, list, watch]";
    Project::new(case, WATCHES)?
        .with_role(case, "web", &format!("{outer}{}", TRIES.replace("NAME", "outer")))?
        .with(
            case,
            "roles/web/meta/main.yaml",
            &meta(&format!(
                "{{apiGroups: [''], resources: [configmaps, nodes], {read}, namespaces: ['*']}},
                 {{apiGroups: [''], resources: [configmaps], verbs: [create, patch]}}"
            )),
        )?
        .with_role(case, "free", &TRIES.replace("NAME", "free"))?
        .with_role(case, "fenced", &TRIES.replace("NAME", "fenced"))?
        .with(
            case,
            "roles/fenced/meta/main.yaml",
            &meta(&format!("{{apiGroups: ['*'], resources: ['*'], {read}}}")),
        )?
        .with_role(case, "named", &TRIES.replace("NAME", "named"))?
        .with(
            case,
            "roles/named/meta/main.yaml",
            "permissions: {api: [{apiGroups: [''], resources: [configmaps], verbs: ['*'], resourceNames: [named]}]}",
        )
}

/// Each role tries all calls. Its status lists the permitted ones.
async fn an_included_role_may_do_what_both_may(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let other = format!("{}-other", case.namespace);
    case.create_namespace(&other).await?;
    let project = roles(&case)?;
    let _operator = Operator::builder(&case, &project)
        .flags(["--allow-env", "HOME"])
        .start()
        .await?;
    make(&case, &webs, "a").await?;
    until(&webs, "a", "Ready", "Reconciled").await?;
    let status = webs.get("a").await?.data["status"].clone();
    let all = [
        "apply",
        "env",
        "get_named",
        "get_other",
        "get_own",
        "list_all",
        "list_nodes",
        "list_own",
    ];
    assert_eq!(status["outer"], json!(all));
    // A role without permissions has those of the role around it, but no environment.
    let without_env: Vec<_> = all.iter().filter(|name| **name != "env").collect();
    assert_eq!(status["free"], json!(without_env));
    assert_eq!(
        status["fenced"],
        json!(["env", "get_named", "get_own", "list_own"])
    );
    assert_eq!(status["named"], json!(["get_named"]));
    Ok(())
}
