//! Ptemplate: a `DaemonSet`, and a child of a kind that somebody else installs.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ApiResource, ListParams, Patch, PatchParams};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::example::{self, Example, built_in, resource};
use test_harness::{Case, SOON, eventually, throughout, trials};

const MODULES: &str = "tests/fixtures/modules.kmm.sigs.x-k8s.io.yaml";

pub(super) fn tests() -> Vec<Trial> {
    trials![
        keeps_its_promises,
        the_children_are_made_of_the_spec,
        a_daemon_set_leads_to_runs_of_its_own_ptemplate_alone,
        waits_for_its_kind_and_tells_of_a_field_that_is_lost,
    ]
}

fn ptemplates() -> ApiResource {
    resource("pt.example.com", "Ptemplate")
}

fn modules() -> ApiResource {
    ApiResource {
        version: "v1beta1".to_owned(),
        api_version: "kmm.sigs.x-k8s.io/v1beta1".to_owned(),
        ..resource("kmm.sigs.x-k8s.io", "Module")
    }
}

async fn example(case: &Case) -> anyhow::Result<Example> {
    example::apply(case, MODULES).await?;
    Example::shared(case, ptemplates()).await
}

/// Consumers that need no device run on every node, also where there is no such kernel module.
fn undemanding(message: &str) -> Value {
    json!({"consumerimage": "pause", "requiredDevices": 0, "defaultmsg": message})
}

async fn keeps_its_promises(case: Case) -> anyhow::Result<()> {
    let name = "ptemplate-sample";
    let children = [
        (modules(), name),
        (built_in::<DaemonSet>(), "ptemplate-sample-consumer"),
    ];
    example(&case)
        .await?
        .keeps_its_promises("pt_v1alpha1_ptemplate.yaml", name, &children)
        .await
}

async fn the_children_are_made_of_the_spec(case: Case) -> anyhow::Result<()> {
    let ptemplates = example(&case).await?;
    let spec = json!({
        "maxdev": 4, "defaultmsg": "hello: \"you\"", "consumerimage": "consumer:1",
        "requiredDevices": 2, "imageRepoSecret": {"name": "credentials"},
        "selector": {"none": "such"},
    });
    ptemplates.make("a", spec).await?;
    let module = ptemplates.others(&modules()).get("a").await?.data;
    let loader = &module["spec"]["moduleLoader"]["container"];
    let parameters = json!(["max_dev=4", "default_msg=hello: \"you\""]);
    assert_eq!(loader["modprobe"]["parameters"], parameters);
    assert!(
        loader["kernelMappings"][0]["containerImage"].is_string(),
        "{loader}"
    );
    assert_eq!(module["spec"]["imageRepoSecret"]["name"], "credentials");
    assert_eq!(module["spec"]["selector"], json!({"none": "such"}));
    let consumers = ptemplates.others(&built_in::<DaemonSet>());
    let pods = &consumers.get("a-consumer").await?.data["spec"]["template"]["spec"];
    assert_eq!(pods["nodeSelector"], json!({"none": "such"}));
    assert_eq!(pods["containers"][0]["image"], "consumer:1");
    let limits = &pods["containers"][0]["resources"]["limits"];
    assert_eq!(limits["pt.example.com/device"], "2");
    Ok(())
}

async fn a_daemon_set_leads_to_runs_of_its_own_ptemplate_alone(case: Case) -> anyhow::Result<()> {
    let ptemplates = example(&case).await?;
    for name in ["a", "b"] {
        ptemplates.make(name, undemanding("hello")).await?;
        // This is the DaemonSet's status, which its controller writes.
        let all = json!({"desired": 1, "ready": 1, "available": 1});
        ptemplates
            .until_status(name, "its consumers", |status| status["consumers"] == all)
            .await?;
    }
    let before = eventually(SOON, "the last run", || async {
        let before = ptemplates.reasons("b")?;
        throughout(Duration::from_secs(2), "no run", || async {
            let now = ptemplates.reasons("b")?;
            anyhow::ensure!(now == before, "{now:?}");
            Ok(())
        })
        .await?;
        anyhow::Ok(before)
    })
    .await?;
    let consumers = case.objects::<DaemonSet>();
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "consumer", "image": image}]}}}});
    let edit = Patch::Strategic(image("edited"));
    consumers
        .patch("a-consumer", &PatchParams::default(), &edit)
        .await?;
    eventually(SOON, "the image to be ours again", || async {
        let spec = consumers.get("a-consumer").await?.spec;
        let containers = spec
            .and_then(|spec| spec.template.spec)
            .map(|pod| pod.containers);
        let image = containers.and_then(|mut containers| containers.remove(0).image);
        anyhow::ensure!(image.as_deref() == Some("pause"), "{image:?}");
        anyhow::ensure!(ptemplates.reasons("a")?.contains_key("child"), "no run");
        Ok(())
    })
    .await?;
    ptemplates.is_ready("a").await?;
    assert_eq!(ptemplates.reasons("b")?, before);
    Ok(())
}

/// On a cluster without the Module's CRD, and with one of ours that is older than the role.
async fn waits_for_its_kind_and_tells_of_a_field_that_is_lost(case: Case) -> anyhow::Result<()> {
    let case = case.on_own_cluster().await?;
    example::apply(&case, "deploy/crds").await?;
    let older = r#"[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/consumers"}]"#;
    let patch = [
        "patch",
        "crd",
        "ptemplates.pt.example.com",
        "--type=json",
        "-p",
        older,
    ];
    case.cluster.kubectl(patch).await?;
    let operator = Arc::new(example::start(&case).await?);
    let ptemplates = Example::served_by(operator, &case, ptemplates());
    let spec = json!({"spec": undemanding("hello")});
    ptemplates.make_with("a", spec).await?;
    let waiting = ptemplates.has_condition("a", "Ready", "Waiting").await?;
    let message = waiting["message"].as_str().unwrap_or_default();
    assert!(message.contains("modules.kmm.sigs.x-k8s.io"), "{message}");
    let consumers = ptemplates.others(&built_in::<DaemonSet>());
    assert!(
        consumers.get_opt("a-consumer").await?.is_none(),
        "{message}"
    );
    example::apply(&case, MODULES).await?;
    ptemplates.is_ready("a").await?;
    consumers.get("a-consumer").await?;
    let told = "status.consumers";
    let events: Api<Event> = case.objects();
    eventually(SOON, "an Event about the field", || async {
        let events = events.list(&ListParams::default()).await?;
        let mut notes = events.iter().filter_map(|event| event.note.as_deref());
        let found = notes.find(|note| note.contains(told) && note.contains("Ptemplate"));
        anyhow::ensure!(found.is_some(), "{} other Events", events.items.len());
        Ok(())
    })
    .await?;
    let log = ptemplates.operator.log()?;
    assert!(
        log.lines()
            .any(|line| line.contains("WARN") && line.contains(told)),
        "{log}"
    );
    Ok(())
}
