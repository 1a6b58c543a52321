//! `rhai-operator role run` on a real API server, and that no secret leaves a run by any way out.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tokio::process::Command;

use test_harness::{Case, Crd, Operator, Project, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_run_shows_what_it_did_and_does_it,
        a_plan_shows_the_changes_and_makes_none,
        a_resource_that_the_cluster_lacks_owns_nothing,
        a_file_gets_the_defaults_of_its_kind,
        a_failed_call_is_shown_with_its_message,
        an_unreachable_server_is_reported_at_once,
        the_exit_code_is_the_outcome,
        no_secret_leaves_a_run,
        no_secret_leaves_the_operator,
    ]
}

const WATCHES: &str = "- {group: '{group}', version: v1, kind: Web, role: web}";

/// The text that must not be seen, and the same in base64.
const SECRET: &str = "hunter22-hunter22";
const SECRET_BASE64: &str = "aHVudGVyMjItaHVudGVyMjI=";

async fn define_project(
    case: &Case,
    script: &str,
) -> anyhow::Result<(Api<DynamicObject>, Project)> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let project = Project::new(case, WATCHES)?
        .with_role(case, "web", script)?
        .with(case, "cr.yaml", &web(case).to_string())?;
    Ok((webs, project))
}

fn web(case: &Case) -> Value {
    json!({
        "apiVersion": format!("{}/v1", case.group), "kind": "Web",
        "metadata": {"name": "a", "namespace": case.namespace}, "spec": {"size": 1},
    })
}

async fn make(case: &Case, webs: &Api<DynamicObject>) -> anyhow::Result<DynamicObject> {
    Ok(webs
        .create(&PostParams::default(), &serde_json::from_value(web(case))?)
        .await?)
}

async fn role_run(case: &Case, project: &Project, flags: &[&str]) -> anyhow::Result<Output> {
    role_run_at(case, project, case.cluster.kubeconfig(), flags).await
}

async fn role_run_at(
    case: &Case,
    project: &Project,
    kubeconfig: &Path,
    flags: &[&str],
) -> anyhow::Result<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_rhai-operator"))
        .args(["role", "run", "web"])
        .arg("--watches-file")
        .arg(project.watches_file())
        .arg("--roles-dir")
        .arg(project.roles_dir())
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["-n", &case.namespace])
        .args(flags)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    Ok(output)
}

fn cr_file(project: &Project) -> String {
    project
        .watches_file()
        .with_file_name("cr.yaml")
        .display()
        .to_string()
}

fn combined_output(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

const APPLIES: &str = r#"
    let map = k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: meta.name},
                          data: #{size: `${spec.size}`}});
    set_status(#{map: map.metadata.name});
"#;

async fn a_run_shows_what_it_did_and_does_it(case: Case) -> anyhow::Result<()> {
    let (webs, project) = define_project(&case, APPLIES).await?;
    let made = make(&case, &webs).await?;
    let output = role_run(&case, &project, &["--cr", "web/a", "--set", "spec.size=3"]).await?;
    let text = combined_output(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in [
        "k8s_apply",
        "ConfigMap",
        "created",
        "+  size: \"3\"",
        "map: a",
        "done",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let map = case.objects::<ConfigMap>().get("a").await?;
    let owners = map.metadata.owner_references.unwrap_or_default();
    assert_eq!(Some(&owners[0].uid), made.metadata.uid.as_ref());
    let web = webs.get("a").await?;
    assert_eq!(web.data["status"]["map"], "a");
    assert!(web.metadata.finalizers.is_none());
    Ok(())
}

async fn a_plan_shows_the_changes_and_makes_none(case: Case) -> anyhow::Result<()> {
    let (webs, project) = define_project(&case, APPLIES).await?;
    make(&case, &webs).await?;
    let output = role_run(&case, &project, &["--cr", "web/a", "--plan", "-o", "json"]).await?;
    assert_eq!(
        output.status.code(),
        Some(4),
        "{}",
        combined_output(&output)
    );
    let document: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(document["outcome"]["kind"], "done");
    assert_eq!(document["changes"][0]["verb"], "create");
    assert_eq!(document["changes"][0]["object"]["kind"], "ConfigMap");
    assert_eq!(document["calls"][0]["function"], "k8s_apply");
    assert!(case.objects::<ConfigMap>().get_opt("a").await?.is_none());
    assert!(webs.get("a").await?.data.get("status").is_none());
    role_run(&case, &project, &["--cr", "web/a"]).await?;
    let output = role_run(&case, &project, &["--cr", "web/a", "--plan"]).await?;
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        combined_output(&output)
    );
    Ok(())
}

async fn a_resource_that_the_cluster_lacks_owns_nothing(case: Case) -> anyhow::Result<()> {
    let (_, project) = define_project(&case, APPLIES).await?;
    let output = role_run(&case, &project, &["--cr", &cr_file(&project)]).await?;
    let text = combined_output(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("not in the cluster"), "{text}");
    assert!(text.contains("map: a"), "{text}");
    let map = case.objects::<ConfigMap>().get("a").await?;
    assert!(map.metadata.owner_references.is_none());
    Ok(())
}

async fn a_file_gets_the_defaults_of_its_kind(case: Case) -> anyhow::Result<()> {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    let (_, project) =
        define_project(&case, "print(`${spec.replicas} of ${spec.strategy.type}`);").await?;
    let project = project.with(&case, "cr.yaml", &deployment.to_string())?;
    let flags = ["--cr", &cr_file(&project), "--log-level", "info"];
    let text = combined_output(&role_run(&case, &project, &flags).await?);
    assert!(text.contains("1 of RollingUpdate"), "{text}");
    let wrong = [&flags[..], &["--set", "spec.replicaz=2"]].concat();
    let output = role_run(&case, &project, &wrong).await?;
    let text = combined_output(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("unknown field \"spec.replicaz\""), "{text}");
    let made = case
        .objects::<Deployment>()
        .list(&ListParams::default())
        .await?;
    assert!(made.items.is_empty(), "{made:?}");
    Ok(())
}

async fn a_failed_call_is_shown_with_its_message(case: Case) -> anyhow::Result<()> {
    let script = r#"
        for read in [
            || k8s_get("nowhere.example.com/v1", "Thing", "a"),
            || k8s_list("nowhere.example.com/v1", "Thing"),
            || k8s_patch(#{apiVersion: "v1", kind: "ConfigMap", name: "none"}, #{}),
            || k8s_scale(#{apiVersion: "apps/v1", kind: "Deployment", name: "none"}, 1),
            || k8s_create(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: "Not-A-Name"}}),
        ] {
            try { read.call(); } catch {}
        }
    "#;
    let (webs, project) = define_project(&case, script).await?;
    make(&case, &webs).await?;
    let output = role_run(&case, &project, &["--cr", "web/a", "-o", "json"]).await?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let calls = document["calls"].as_array().cloned().unwrap_or_default();
    let said = |function: &str| {
        let call = calls.iter().find(|call| call["function"] == function);
        call.map_or_else(String::new, |call| {
            format!("{}: {}", call["object"], call["result"])
        })
    };
    for (function, parts) in [
        ("k8s_get", ["Thing.nowhere.example.com", "absent"]),
        ("k8s_list", ["Thing.nowhere.example.com", "0 found"]),
        ("k8s_patch", ["ConfigMap none", "does not exist"]),
        ("k8s_scale", ["Deployment.apps none", "does not exist"]),
        ("k8s_create", ["Not-A-Name", "is invalid"]),
    ] {
        let said = said(function);
        let all = parts.iter().all(|part| said.contains(part));
        ensure!(all && !said.contains("retryable"), "{function}: {said}");
    }
    Ok(())
}

async fn an_unreachable_server_is_reported_at_once(case: Case) -> anyhow::Result<()> {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    });
    let (_, project) = define_project(&case, APPLIES).await?;
    let project = project.with(&case, "away.yaml", &kubeconfig.to_string())?;
    let kubeconfig = project.watches_file().with_file_name("away.yaml");
    let started = rhai_operator::clock::now();
    let output = role_run_at(&case, &project, &kubeconfig, &["--cr", "web/a"]).await?;
    let text = combined_output(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let expected = format!("error: the API server 127.0.0.1:{port} does not answer: ");
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    // Not after the half minute of a call with its retries.
    assert!(started.elapsed() < Duration::from_secs(20));
    let flags = ["--cr", "web/a", "--context", "b"];
    let text = combined_output(&role_run_at(&case, &project, &kubeconfig, &flags).await?);
    assert!(text.contains("has no context \"b\"; it has a"), "{text}");
    Ok(())
}

async fn the_exit_code_is_the_outcome(case: Case) -> anyhow::Result<()> {
    let script = r#"
        switch spec.size {
            1 => (),
            2 => wait_ready(#{apiVersion: "apps/v1", kind: "Deployment", name: "none"}),
            3 => fail("never"),
            _ => throw "again",
        }
    "#;
    let (webs, project) = define_project(&case, script).await?;
    make(&case, &webs).await?;
    for (size, code) in [(1, 0), (2, 3), (3, 1), (4, 1)] {
        let set = format!("spec.size={size}");
        let output = role_run(&case, &project, &["--cr", "web/a", "--set", &set]).await?;
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}",
            combined_output(&output)
        );
    }
    let output = role_run(&case, &project, &["--cr", "web/absent"]).await?;
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        combined_output(&output)
    );
    let output = role_run(&case, &project, &["--no-such-flag"]).await?;
    assert_eq!(
        output.status.code(),
        Some(2),
        "{}",
        combined_output(&output)
    );
    Ok(())
}

/// A role that tries every way out.
const LEAKS: &str = r#"
    let secret = k8s_get("v1", "Secret", "s");
    let encoded = secret.data.password;
    let plain = base64_decode(encoded);
    print(plain);
    log_info("seen", #{value: plain, encoded: encoded});
    event("Normal", "Leaked", "it is " + plain);
    set_status(#{plain: plain, nested: [#{url: `http://u:${plain}@host`}], encoded: encoded});
    set_condition("Leaked", true, "Leaked", plain);
    k8s_apply(#{apiVersion: "v1", kind: "Secret", metadata: #{name: "copy"},
                stringData: #{password: plain}});
    try { k8s_get("v1", "ConfigMap", plain + "!") } catch(e) { log_warn(e.message) }
    throw "cannot go on with " + plain + " or " + encoded;
"#;

const GIVEN: &str = "
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: hunter22-hunter22}
";

fn clean(what: &str, text: &str) {
    let leaked = text.contains(SECRET) || text.contains(SECRET_BASE64.trim_end_matches('='));
    assert!(!leaked, "{what} gives the secret away: {text}");
}

async fn no_secret_leaves_a_run(case: Case) -> anyhow::Result<()> {
    let (webs, project) = define_project(&case, LEAKS).await?;
    case.apply(GIVEN).await?;
    make(&case, &webs).await?;
    for flags in [
        &["--plan"][..],
        &["--plan", "-o", "json"],
        &["--log-level", "trace"],
        &["-o", "json"],
    ] {
        let flags = [&["--cr", "web/a"], flags].concat();
        let output = role_run(&case, &project, &flags).await?;
        let text = combined_output(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("[redacted]"), "{text}");
        clean("role run", &text);
    }
    clean(
        "the status",
        &webs.get("a").await?.data["status"].to_string(),
    );
    Ok(())
}

async fn no_secret_leaves_the_operator(case: Case) -> anyhow::Result<()> {
    let (webs, project) = define_project(&case, LEAKS).await?;
    case.apply(GIVEN).await?;
    let operator = Operator::builder(&case, &project)
        .flags(["--log-level", "debug"])
        .start()
        .await?;
    make(&case, &webs).await?;
    let events = case.objects::<Event>();
    let seen = eventually(SOON, "the Events of the run", || async {
        let list = events.list(&ListParams::default()).await?.items;
        let has = |reason: &str| list.iter().any(|e| e.reason.as_deref() == Some(reason));
        ensure!(has("Failed") && has("Leaked"), "{} events", list.len());
        Ok(list)
    })
    .await?;
    clean("an Event", &serde_json::to_string(&seen)?);
    let status = eventually(SOON, "the status", || async {
        let status = webs.get("a").await?.data["status"].clone();
        ensure!(status.get("plain").is_some(), "{status}");
        Ok(status)
    })
    .await?;
    assert_eq!(status["plain"], "[redacted]");
    clean("the status", &status.to_string());
    clean("the log", &operator.log()?);
    clean("the metrics", &operator.metrics().await?);
    Ok(())
}
