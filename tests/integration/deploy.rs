//! The manifests of `deploy/`: they apply unchanged, and the operator needs each of their permissions and
//! no other one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use libtest_mimic::Trial;
use regex::Regex;
use serde_json::{Value, json};

use test_harness::{Case, Operator, Project, SOON, User, eventually, trials};

const NAMESPACE: &str = "rhai-operator-system";
const ACCOUNT: &str = "rhai-operator";
const EXAMPLES: &str = "memcacheds,minimarts,experimentals,podsets,myownshells,releases,ptemplates";

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        applies_cleanly_where_pods_are_restricted,
        its_service_account_makes_all_examples_work,
        each_rule_is_needed,
    ]
}

async fn applies_cleanly_where_pods_are_restricted(case: Case) -> anyhow::Result<()> {
    // The namespace has a fixed name, and others apply the same CRDs.
    let case = case.on_own_cluster().await?;
    let apply = ["apply", "-k", &path("deploy"), "--warnings-as-errors"];
    case.cluster.kubectl(apply).await?;
    let pods = Api::<Pod>::namespaced(case.cluster.client.clone(), NAMESPACE);
    let of_the_manager = ListParams::default().labels("app.kubernetes.io/component=manager");
    eventually(SOON, "the manager's Pod", || async {
        let pods = pods.list(&of_the_manager).await?;
        anyhow::ensure!(pods.items.len() == 1, "{} Pods", pods.items.len());
        Ok(())
    })
    .await?;
    let again = case.cluster.kubectl(apply).await?;
    let changed: Vec<&str> = again
        .lines()
        .filter(|line| !line.ends_with(" unchanged"))
        .collect();
    assert_eq!(changed, [""; 0], "applied twice, something changed");
    Ok(())
}

async fn its_service_account_makes_all_examples_work(case: Case) -> anyhow::Result<()> {
    let (case, user) = deployed(&case).await?;
    let mark = case.cluster.audit.mark().await?;
    let project = Project::repository();
    let operator = start(&case, &project, &user).await?;
    apply_samples(&case, &case.namespace, &[String::new()]).await?;
    let namespace = ["-n", &case.namespace];
    let wait = [
        "wait",
        "--for=condition=Ready",
        "--timeout=120s",
        "--all",
        EXAMPLES,
    ];
    let ready = case.cluster.kubectl(namespace.iter().chain(&wait)).await;
    if ready.is_err() {
        let states = ["get", EXAMPLES, "-o", "yaml"];
        let states = case
            .cluster
            .kubectl(namespace.iter().chain(&states))
            .await?;
        ready.context(states)?;
    }
    let requests = case
        .cluster
        .audit
        .since(mark)
        .await?
        .by(&operator.user.name);
    let refused = requests.filter(|request| request.code() == 403);
    assert_eq!(
        refused.counted(),
        [].into(),
        "nothing may be learnt by being refused"
    );
    Ok(())
}

async fn each_rule_is_needed(case: Case) -> anyhow::Result<()> {
    let (case, user) = deployed(&case).await?;
    let mut unmissed = Vec::new();
    for role in ["role", "clusterrole"] {
        let name = match role {
            "role" => "rhai-operator-leader-election",
            _ => ACCOUNT,
        };
        let kind = [role, name, "-n", NAMESPACE];
        let get = ["get", "-o", "json"];
        let whole: Value =
            serde_json::from_str(&case.cluster.kubectl(get.iter().chain(&kind)).await?)?;
        let rules = whole["rules"].as_array().context("a role has rules")?;
        for (round, removed) in rounds(rules) {
            let rest: Vec<&Value> = rules
                .iter()
                .filter(|rule| !removed.contains(rule))
                .collect();
            set_rules(&case, &kind, json!(rest)).await?;
            let round = format!("{role}-{round}");
            if let Err(error) = miss(&case, &user, &merged(&removed), &round).await {
                unmissed.push(format!("{removed:?}\n{error:#}"));
            }
        }
        set_rules(&case, &kind, whole["rules"].clone()).await?;
    }
    assert!(unmissed.is_empty(), "not missed:\n{}", unmissed.join("\n"));
    Ok(())
}

/// Returns the rules to remove at a time: each alone, except that those of the operator itself, which differ
/// in their API groups only, are removed together.
fn rounds(rules: &[Value]) -> BTreeMap<String, Vec<&Value>> {
    let mut rounds: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        let resource = rule["resources"][0].as_str().unwrap_or_default();
        let (plural, subresource) = resource.split_once('/').unwrap_or((resource, "kind"));
        let round = if EXAMPLES.split(',').any(|example| example == plural) {
            format!("own-{subresource}")
        } else {
            format!("{index:02}")
        };
        rounds.entry(round).or_default().push(rule);
    }
    rounds
}

/// Returns one rule with the groups, the resources and the verbs of several.
fn merged(rules: &[&Value]) -> Value {
    let all = |key: &str| -> Vec<String> {
        let lists = rules.iter().flat_map(|rule| names(rule, key));
        lists.collect()
    };
    json!({"apiGroups": all("apiGroups"), "resources": all("resources"), "verbs": all("verbs")})
}

/// A cluster of its own with `deploy/` applied, and the operator's user.
async fn deployed(case: &Case) -> anyhow::Result<(Case, User)> {
    let case = case.on_own_cluster().await?;
    case.cluster
        .kubectl(["apply", "-k", &path("deploy")])
        .await?;
    let modules = path("tests/fixtures/modules.kmm.sigs.x-k8s.io.yaml");
    case.cluster.kubectl(["apply", "-f", &modules]).await?;
    // A node that has the devices which the Ptemplate's consumers ask for.
    let label = ["label", "node", "node-0", "pt.example.com/devices=true"];
    case.cluster.kubectl(label).await?;
    let devices = r#"{"status": {"allocatable": {"pt.example.com/device": "4"}, "capacity": {"pt.example.com/device": "4"}}}"#;
    let patch = [
        "patch",
        "node",
        "node-0",
        "--subresource=status",
        "-p",
        devices,
    ];
    case.cluster.kubectl(patch).await?;
    let user = case.service_account(NAMESPACE, ACCOUNT).await?;
    Ok((case, user))
}

async fn start(case: &Case, project: &Project, user: &User) -> anyhow::Result<Operator> {
    let election = ["--leader-elect", "--leader-election-namespace", NAMESPACE];
    Operator::builder(case, project)
        .user(user)
        .flags(election)
        .start()
        .await
}

/// Runs the operator without a rule until it says that it misses it.
async fn miss(case: &Case, user: &User, rule: &Value, round: &str) -> anyhow::Result<()> {
    let namespace = format!("{}-{round}", case.namespace);
    case.create_namespace(&namespace).await?;
    let lease = [
        "delete",
        "lease",
        ACCOUNT,
        "-n",
        NAMESPACE,
        "--ignore-not-found",
    ];
    case.cluster.kubectl(lease).await?;
    let project = Project::repository();
    let mut operator = start(case, &project, user).await?;
    if rule["resources"][0] == "events" {
        // The role cannot adopt this Deployment, because its selector is immutable. An Event reports that.
        let deployment = ["create", "deployment", "memcached-sample", "--image=other"];
        let create = deployment.into_iter().chain(["-n", &namespace]);
        case.cluster.kubectl(create).await?;
    }
    apply_samples(case, &namespace, &exercising(rule)?).await?;
    let missing = missing(rule);
    let what = format!("an error that matches {missing}");
    let seen = eventually(SOON, &what, || async {
        let log = operator.log()?;
        let errors = log.lines().filter(|line| line.contains("forbidden"));
        let errors: Vec<&str> = errors.collect();
        let found = errors.iter().any(|line| missing.is_match(line));
        anyhow::ensure!(found, "refused: {errors:?}");
        Ok(())
    })
    .await;
    operator.kill().await?;
    seen
}

/// Returns the samples that need a rule. The release is applied for the rules that nothing else needs: each stops
/// it, and once installed it would need none.
fn exercising(rule: &Value) -> anyhow::Result<Vec<String>> {
    const RELEASE: &str = "operator_v1alpha1_release.yaml";
    let of_release = [
        "operator.example.com",
        "rbac.authorization.k8s.io",
        "conveyor.example.com",
    ];
    if of_release
        .iter()
        .any(|group| rule["apiGroups"][0] == *group)
    {
        return Ok(vec![RELEASE.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path("deploy/samples"))? {
        files.push(entry?.file_name().to_string_lossy().into_owned());
    }
    files.retain(|file| file != RELEASE);
    Ok(files)
}

/// Returns the API server's message for a request that a rule would allow.
fn missing(rule: &Value) -> Regex {
    let verbs = names(rule, "verbs").join("|");
    let resources = names(rule, "resources").join("|");
    let refused = format!(r#"cannot ({verbs}) resource \\*"({resources})\\*""#);
    // Of a right that is to be passed on, it says what right that is.
    let granted = format!(r#"not currently held.*Resources:\[\\*"({resources})\\*""#);
    Regex::new(&format!("{refused}|{granted}")).expect("names without special characters")
}

fn names(rule: &Value, of: &str) -> Vec<String> {
    serde_json::from_value(rule[of].clone()).unwrap_or_default()
}

async fn set_rules(case: &Case, kind: &[&str], rules: Value) -> anyhow::Result<()> {
    let patch = json!({"rules": rules}).to_string();
    let arguments = ["patch", "--type=merge", "-p", &patch];
    case.cluster.kubectl(arguments.iter().chain(kind)).await?;
    Ok(())
}

async fn apply_samples(case: &Case, namespace: &str, files: &[String]) -> anyhow::Result<()> {
    let mut apply = vec!["apply".to_owned(), "-n".to_owned(), namespace.to_owned()];
    for file in files {
        apply.extend(["-f".to_owned(), path(&format!("deploy/samples/{file}"))]);
    }
    case.cluster.kubectl(apply).await.map(drop)
}

fn path(of: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(of);
    path.to_string_lossy().into_owned()
}
