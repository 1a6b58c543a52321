//! Tests of the permissions that are derived from roles.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::requirements::Reason;
use super::*;
use crate::generate::Settings;
use crate::host;
use crate::role::Project;
use crate::watches::Environment;

const WATCH: &str = "- {group: shop.example.com, version: v1, kind: Site, role: site}\n";

/// Returns the requirements of a project with these files of roles.
fn requirements(files: &[(&str, &str)]) -> Requirements {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join("roles").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let watches = folder.path().join("watches.yaml");
    fs::write(&watches, WATCH).unwrap();
    let roles = folder.path().join("roles");
    let environment = Environment::default();
    let project = Project::load(&watches, &roles, &environment, &host::toolchain());
    let project = project.unwrap_or_else(|errors| panic!("{errors:?}"));
    let crd = json!({"spec": {"group": "shop.example.com", "scope": "Namespaced", "names": {"kind": "Site", "plural": "sites"}}});
    Requirements::of_project(&project, &KindTable::new(&[crd]), &Settings::default())
}

/// Returns the permissions that roles need: `apps/deployments get list`.
fn of_roles(requirements: &Requirements) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (permission, reasons) in &requirements.permissions {
        if !reasons
            .iter()
            .any(|reason| matches!(reason, Reason::Role(_)))
        {
            continue;
        }
        let name = permission.name.as_ref();
        let name = name.map_or_else(String::new, |name| format!("[{name}]"));
        let object = format!("{}/{}{name}", permission.group, permission.resource);
        match lines
            .last_mut()
            .filter(|line| line.starts_with(&format!("{object} ")))
        {
            Some(line) => {
                line.push(' ');
                line.push_str(&permission.verb);
            }
            None => lines.push(format!("{object} {}", permission.verb)),
        }
    }
    lines
}

fn gaps(requirements: &Requirements) -> Vec<String> {
    let gaps = requirements.gaps.iter();
    let lines = gaps.map(|gap| {
        let site = &gap.site;
        let kind = format!("{:?}", gap.kind);
        let kind = kind.split('(').next().unwrap_or_default();
        format!(
            "{}/{}:{} {} {kind}",
            site.role, site.file, site.line, site.call
        )
    });
    lines.collect()
}

/// Asserts the permissions that a script needs.
#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let found = requirements(&[("site/tasks/main.rhai", script)]);
    assert_eq!(of_roles(&found), expected, "{script}");
    assert_eq!(gaps(&found), [""; 0], "{script}");
}

#[test]
fn each_host_function_needs_its_verbs() {
    let read = "/secrets get list watch";
    check(r#"k8s_get("v1", "Secret", "a")"#, &[read]);
    check(r#"k8s_list("v1", "Secret", #{labels: "a=b"})"#, &[read]);
    check(
        r#"wait_ready(#{apiVersion: "v1", kind: "Secret", name: "a"})"#,
        &[read],
    );
    check(
        r#"k8s_get(#{apiVersion: "v1", kind: "Secret", name: "a"})"#,
        &[read],
    );
    let create = "/secrets create get list watch";
    check(r#"ensure_secret("a", || #{b: "c"})"#, &[create]);
    let map = r#"#{apiVersion: "v1", kind: "Secret", metadata: #{name: meta.name}}"#;
    check(&format!("k8s_create({map})"), &[create]);
    let apply = "/secrets create delete get list patch watch";
    check(&format!("k8s_apply({map})"), &[apply]);
    check(&format!("k8s_ensure(spec.x, {map})"), &[apply]);
    let shared = "/secrets create get list patch watch";
    check(&format!("k8s_apply({map}, #{{owner: false}})"), &[shared]);
    check(
        &format!("k8s_delete({map})"),
        &["/secrets delete get list watch"],
    );
    check(
        &format!("k8s_patch({map}, #{{}})"),
        &["/secrets get list patch watch"],
    );
    let scale = r#"k8s_scale(#{apiVersion: "apps/v1", kind: "Deployment", name: "a"}, 1)"#;
    check(
        scale,
        &[
            "apps/deployments get list watch",
            "apps/deployments/scale patch",
        ],
    );
}

#[test]
fn kinds_flow_through_variables_functions_and_closures() {
    let expected = &["/pods delete get list watch"];
    let list = r#"let all = k8s_list("v1", "Pod");"#;
    for rest in [
        "k8s_delete(all[0]);",
        "for pod in all { k8s_delete(pod) }",
        "fn remove(pods) { k8s_delete(pods) } remove(all.filter(|p| p.spec != ()));",
        "fn first(pods) { return pods[0]; } k8s_delete(first(all));",
        "let some = []; some.push(all[0]); k8s_delete(some);",
        "let some = []; some += all; k8s_delete(some);",
        "let by_name = #{}; by_name[spec.x] = all; k8s_delete(by_name.y);",
        "all.for_each(|pod| k8s_delete(pod));",
        "let n = 1; all.for_each(|pod| if n > 0 { k8s_delete(pod) });",
        "k8s_delete(if spec.x { all } else { [] });",
        "k8s_delete(switch spec.x { 1 => all, _ => () });",
        "k8s_delete(all ?? []);",
        "all[0].k8s_delete();",
    ] {
        check(&format!("{list} {rest}"), expected);
    }
}

#[test]
fn texts_and_literals_are_read() {
    let expected = &["/configmaps create delete get list patch watch"];
    check(
        "k8s_apply(`apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${meta.name}}`)",
        expected,
    );
    check(
        r#"k8s_apply(merge(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: "a"}}, spec.over))"#,
        expected,
    );
}

#[test]
fn modules_templates_and_files_are_read() {
    let found = requirements(&[
        (
            "site/tasks/main.rhai",
            "import \"more\" as more; more::run(`a/${spec.x}.yaml`); k8s_apply(from_yaml(file(\"s.yaml\")))",
        ),
        (
            "site/tasks/more.rhai",
            "fn run(name) { k8s_apply(template_objects(\"a/*.yaml\")); k8s_delete(template_objects(`b/${name}`)); }",
        ),
        (
            "site/templates/a/one.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ meta.name }}}\n{% include \"c/part.yaml\" %}\n",
        ),
        (
            "site/templates/b/two.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n",
        ),
        (
            "site/templates/c/part.yaml",
            "---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\n",
        ),
        (
            "site/files/s.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n",
        ),
    ]);
    let all = "create delete get list patch watch";
    assert_eq!(
        of_roles(&found),
        [
            format!("/secrets {all}"),
            format!("/services {all}"),
            format!("apps/deployments {all}"),
            "batch/jobs delete get list watch".to_owned(),
        ]
    );
    assert_eq!(gaps(&found), [""; 0]);
}

#[test]
fn steps_are_read() {
    let found = requirements(&[
        (
            "site/tasks/main.yaml",
            r#"
- name: config
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${meta.name}"}}
- name: pods
  script: k8s_list("v1", "Pod")
- name: gone
  loop: ${results.pods}
  delete: ${item}
- name: job
  include: job.yaml
  vars: {image: a}
- name: shared
  apply: {template: "*.yaml"}
"#,
        ),
        (
            "site/tasks/job.yaml",
            "- name: one\n  apply: {apiVersion: batch/v1, kind: Job, metadata: {name: a}}\n- script: results.one\n  ready: true\n",
        ),
        (
            "site/tasks/finalize.rhai",
            r#"k8s_delete(#{apiVersion: "v1", kind: "Secret", name: "a"})"#,
        ),
        (
            "site/templates/s.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
        ),
    ]);
    let all = "create delete get list patch watch";
    assert_eq!(
        of_roles(&found),
        [
            format!("/configmaps {all}"),
            "/pods delete get list watch".to_owned(),
            "/secrets delete get list watch".to_owned(),
            format!("/services {all}"),
            format!("batch/jobs {all}"),
        ]
    );
    assert_eq!(gaps(&found), [""; 0]);
}

#[test]
fn a_computed_kind_is_a_gap_or_what_the_permissions_of_the_role_allow() {
    let script = (
        "site/tasks/main.rhai",
        "\nk8s_apply(spec.objects);\nk8s_get(spec.v, spec.k, \"a\")",
    );
    let found = requirements(&[script]);
    assert_eq!(of_roles(&found), [""; 0]);
    assert_eq!(
        gaps(&found),
        [
            "site/tasks/main.rhai:2 k8s_apply Kind",
            "site/tasks/main.rhai:3 k8s_get Kind"
        ]
    );
    let meta = (
        "site/meta/main.yaml",
        "permissions:\n  api:\n    - {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, patch]}\n",
    );
    let found = requirements(&[script, meta]);
    assert_eq!(of_roles(&found), ["batch/jobs create get list patch watch"]);
    assert_eq!(gaps(&found), [""; 0]);
}

#[test]
fn both_fences_limit_an_included_role() {
    let fence = |verbs: &str| {
        format!(
            "permissions:\n  api:\n    - {{apiGroups: [\"\"], resources: [secrets], verbs: [{verbs}]}}\n"
        )
    };
    let found = requirements(&[
        ("site/tasks/main.rhai", "include_role(\"part\")"),
        ("site/meta/main.yaml", &fence("get, list, watch, create")),
        (
            "part/tasks/main.rhai",
            r#"k8s_apply(#{apiVersion: "v1", kind: "Secret", metadata: #{name: "a"}})"#,
        ),
        ("part/meta/main.yaml", &fence("get, create, patch, delete")),
    ]);
    assert_eq!(of_roles(&found), ["/secrets create get"]);
    assert_eq!(gaps(&found), ["part/tasks/main.rhai:1 k8s_apply Fenced"]);
}

#[test]
fn permissions_that_a_role_hands_out_are_needed() {
    let role = r#"#{apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: #{name: "a"}, rules: [#{apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: ["x"]}]}"#;
    let binding = r#"#{apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: #{name: "a"}, roleRef: #{kind: "ClusterRole", name: "view"}}"#;
    let found = requirements(&[(
        "site/tasks/main.rhai",
        &format!("k8s_apply([{role}, {binding}])"),
    )]);
    let all = "create delete get list patch watch";
    assert_eq!(
        of_roles(&found),
        [
            "/pods[x] get".to_owned(),
            format!("rbac.authorization.k8s.io/rolebindings {all}"),
            format!("rbac.authorization.k8s.io/roles {all}"),
            "rbac.authorization.k8s.io/clusterroles[view] bind".to_owned(),
        ]
    );
}

#[test]
fn the_kind_itself_needs_what_its_children_ask_for() {
    let own = |script: &str| {
        let found = requirements(&[("site/tasks/main.rhai", script)]);
        let own = found
            .permissions
            .keys()
            .filter(|one| one.group == "shop.example.com");
        own.map(|one| format!("{} {}", one.resource, one.verb))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let watched = "sites get, sites list, sites watch, sites/status patch";
    assert_eq!(own("1"), watched);
    let child = |kind: &str| {
        format!("k8s_apply(#{{apiVersion: \"v1\", kind: {kind:?}, metadata: #{{name: \"a\"}}}})")
    };
    assert_eq!(
        own(&child("Secret")),
        "sites get, sites list, sites watch, sites/finalizers update, sites/status patch"
    );
    let unreachable = "sites get, sites list, sites patch, sites watch, sites/finalizers update, sites/status patch";
    assert_eq!(
        own(&child("Namespace")),
        unreachable,
        "an object without a namespace"
    );
}

#[test]
fn a_document_is_stable_and_names_its_reasons() {
    let found = requirements(&[
        (
            "site/tasks/main.rhai",
            "k8s_apply(template_objects(\"*.yaml\")); k8s_get(spec.v, \"K\", \"n\"); k8s_get(\"x.y/v1\", \"Policy\", \"n\")",
        ),
        (
            "site/templates/s.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
        ),
    ]);
    insta::assert_snapshot!("cluster", document(&found, &Settings::default()));
    let settings = Settings {
        watch_namespaces: vec!["one".into(), "two".into()],
        ..Settings::default()
    };
    insta::assert_snapshot!("namespaced", document(&found, &settings));
}

#[test]
fn the_generated_rules_have_neither_gaps_nor_surplus() {
    let found = requirements(&[("site/tasks/main.rhai", "k8s_list(\"v1\", \"Service\")")]);
    let diagnose = |text: &str| {
        let manifests = [Manifests {
            file: "deploy/role.yaml".into(),
            documents: crate::model::yaml::parse_all_positioned(text).unwrap(),
        }];
        let paths = Paths {
            watches_file: Path::new("watches.yaml"),
            roles_dir: Path::new("roles"),
            deploy_dir: Path::new("deploy"),
        };
        let found = compare(&found, &manifests, &[], &paths);
        let lines = found.iter().map(ToString::to_string);
        lines.collect::<Vec<_>>().join("\n")
    };
    let text = document(&found, &Settings::default());
    assert_eq!(diagnose(&text), "");
    assert_eq!(diagnose("kind: Service"), "", "a folder without roles");
    let surplus = text.replacen(
        "verbs: [get, list, watch]\n",
        "verbs: [get, list, watch, delete]\n",
        1,
    );
    insta::assert_snapshot!("surplus", diagnose(&surplus));
    let missing = text
        .replace("[services]", "[secrets]")
        .replace("sites/status", "sites/scale");
    insta::assert_snapshot!("missing", diagnose(&missing));
}
