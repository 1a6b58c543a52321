//! The messages and exit codes of commands with wrong arguments.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics is a test that fails"
)]

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.web.example.com}
spec:
  group: web.example.com
  scope: Namespaced
  names: {kind: Site, plural: sites, singular: site}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {title: {type: string}}}}
";

const STEPS: &str = "
- name: one
  tags: [a]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- name: two
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
";

/// A project with the role `site`.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let cr = |kind: &str, field: &str| {
        format!(
            "{{apiVersion: web.example.com/v1, kind: {kind}, metadata: {{name: shop}}, spec: {{{field}: x}}}}"
        )
    };
    let watch = "- {group: web.example.com, version: v1, kind: Site, role: site}\n";
    for (file, text) in [
        ("watches.yaml", watch),
        ("roles/site/tasks/main.yaml", STEPS),
        ("deploy/crds/site.yaml", CRD),
        ("site.yaml", &cr("Site", "title")),
        ("kind.yaml", &cr("Sitee", "title")),
        ("field.yaml", &cr("Site", "titel")),
    ] {
        write(folder.path(), file, text);
    }
    folder
}

fn write(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
    command
        .env_clear()
        .current_dir(folder)
        .args(line.split(' '));
    command.env("RHAI_OPERATOR_LOG_LEVEL", "error");
    command
}

/// Runs a command to its end; exit code, stdout and stderr.
fn end(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    (output.status.code(), stdout, stderr)
}

fn run(folder: &Path, line: &str) -> (Option<i32>, String, String) {
    end(command(folder, line))
}

#[test]
fn a_missing_role_has_the_same_error_everywhere() {
    let project = project();
    let unknown = "error: cannot find the role \"sit\"\n  hint: did you mean \"site\"?\n";
    for line in [
        "role run sit --cr site.yaml --against embedded",
        "role convert sit",
    ] {
        let (code, _, stderr) = run(project.path(), line);
        assert_eq!((code, &*stderr), (Some(1), unknown), "{line}");
    }
    write(
        project.path(),
        "watches.yaml",
        "- {version: v1, kind: A, role: sit}\n",
    );
    let (_, stdout, _) = run(project.path(), "check");
    assert!(stdout.contains(unknown), "{stdout}");
    let (_, _, stderr) = run(project.path(), "role convert other");
    assert!(
        stderr.contains("hint: create the folder ./roles/other"),
        "{stderr}"
    );
}

#[test]
fn a_run_names_the_file_of_a_custom_resource_that_does_not_fit() {
    let project = project();
    for (cr, parts) in [
        (
            "kind.yaml",
            [
                "error: kind.yaml: the API server in this process has no kind web.example.com/v1 Sitee\n",
                "hint: did you mean web.example.com/v1 Site?",
            ],
        ),
        ("field.yaml", ["error: field.yaml: ", "titel"]),
        (
            "site.yaml --set spec.size=1",
            ["error: site.yaml with --set: ", "size"],
        ),
        (
            "Sitee/shop",
            [
                "error: the API server in this process has no kind Sitee\n",
                "hint: did you mean Site?",
            ],
        ),
        (
            "Site/shop",
            [
                " default/shop in the API server in this process\n",
                "hint: name its file with --cr, or a file that contains it with --input",
            ],
        ),
    ] {
        let line = format!("role run site --against embedded --cr {cr}");
        let (code, _, stderr) = run(project.path(), &line);
        assert_eq!(code, Some(1), "{line}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{line}: {stderr}");
        }
    }
}

#[test]
fn a_run_that_cannot_load_the_project_tells_what_is_wrong_and_no_more() {
    let project = project();
    write(
        project.path(),
        "roles/site/tasks/main.yaml",
        "- nothing: 1\n",
    );
    let (code, _, stderr) = run(
        project.path(),
        "role run site --cr site.yaml --against embedded",
    );
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("main.yaml:1:3: error: "), "{stderr}");
    assert!(!stderr.contains("note: "), "{stderr}");
    assert!(run(project.path(), "check --ansible").1.contains("note: "));
}

#[test]
fn a_cluster_is_named_for_a_run_on_a_cluster_alone() {
    let project = project();
    let line = "role run site --cr site.yaml --against embedded";
    for flag in ["--kubeconfig", "--context"] {
        let (code, _, stderr) = run(project.path(), &format!("{line} {flag} none"));
        assert_eq!(code, Some(2), "{stderr}");
        let error = format!("error: {flag} requires --against cluster");
        assert!(stderr.starts_with(&error), "{stderr}");
    }
    // The environment is set for every command.
    let mut command = command(project.path(), line);
    command.env("RHAI_OPERATOR_CONTEXT", "none");
    command.env("RHAI_OPERATOR_KUBECONFIG", "none");
    let (code, stdout, stderr) = end(command);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn steps_to_run_are_some_steps() {
    let project = project();
    let line = "role run site --cr site.yaml --against embedded";
    let (code, stdout, stderr) = run(project.path(), &format!("{line} --start-at two --tags a"));
    assert_eq!((code, &*stdout), (Some(1), ""), "{stderr}");
    let error =
        "error: role site: --start-at two with --tags a selects no step: the run did nothing\n";
    assert_eq!(stderr, error);
    for flag in ["--tags=", "--tags=a,", "--start-at="] {
        let (code, _, stderr) = run(project.path(), &format!("{line} {flag}"));
        assert_eq!(code, Some(2), "{flag}: {stderr}");
    }
    let (code, ..) = run(project.path(), &format!("{line} --start-at one --tags a"));
    assert_eq!(code, Some(0));
}

#[test]
fn an_invalid_namespace_is_reported_with_its_source() {
    let project = project();
    let (code, _, stderr) = run(project.path(), "run --watch-namespace a,Bad_NS");
    assert_eq!(code, Some(2), "{stderr}");
    let error = "error: --watch-namespace: expected names of namespaces, as in team-a,team-b, found \"Bad_NS\"\n";
    assert_eq!(stderr, error);
    let mut command = command(project.path(), "run");
    command.env("WATCH_NAMESPACE", "Bad_NS");
    let (code, _, stderr) = end(command);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("hint: correct the environment variable"),
        "{stderr}"
    );
}

#[test]
fn each_command_that_runs_roles_has_the_limits_of_a_run() {
    let project = project();
    for command in ["run", "dev", "test", "role run"] {
        let (_, help, _) = run(project.path(), &format!("{command} --help"));
        for limit in ["memory", "operations", "host-calls", "depth"] {
            let variable = limit.to_uppercase().replace('-', "_");
            assert!(help.contains(&format!("--run-{limit} <")), "{help}");
            let variable = format!("[env: RHAI_OPERATOR_RUN_{variable}=]");
            assert!(help.contains(&variable), "{command}: {variable}");
        }
        let line = format!("{command} --run-depth 65");
        let (code, _, stderr) = run(project.path(), &line);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("65 is not in 1..=64"), "{stderr}");
    }
}

#[test]
fn scenario_tests_run_roles_with_the_limits_of_the_flags() {
    let project = project();
    std::fs::remove_file(project.path().join("roles/site/tasks/main.yaml")).unwrap();
    let script = "let sum = 0; for n in 0..100 { sum += n; }";
    write(project.path(), "roles/site/tasks/main.rhai", script);
    write(
        project.path(),
        "molecule-tests/limits/scenario.yaml",
        "idempotence: false\n",
    );
    let cr = std::fs::read_to_string(project.path().join("site.yaml")).unwrap();
    write(project.path(), "molecule-tests/limits/converge.yaml", &cr);
    let (code, stdout, _) = run(project.path(), "test");
    assert_eq!(code, Some(0), "{stdout}");
    let (code, stdout, _) = run(project.path(), "test --run-operations 1");
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("stopped after 1 operations"), "{stdout}");
}

#[test]
fn the_exit_codes_of_a_run_are_in_its_help() {
    let (code, stdout, _) = run(Path::new("."), "role run --help");
    assert_eq!(code, Some(0));
    assert!(stdout.contains("3 the role waits"), "{stdout}");
}

#[test]
fn a_new_project_refuses_to_overwrite_files_and_writes_nothing_then() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "README.md", "mine\n");
    let (code, stdout, stderr) = run(folder.path(), "init shop.example.com");
    assert_eq!((code, &*stdout), (Some(1), ""), "{stderr}");
    let error = "error: cannot overwrite files that exist: README.md\n  hint: remove them, or add --force\n";
    assert_eq!(stderr, error);
    assert!(!folder.path().join("watches.yaml").exists());
    let (code, stdout, _) = run(folder.path(), "init shop.example.com --force --dry-run");
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains("README.md: would be overwritten\n"),
        "{stdout}"
    );
    assert!(!folder.path().join("watches.yaml").exists());
    let (code, ..) = run(folder.path(), "init shop.example.com --force");
    assert_eq!(code, Some(0));
    let readme = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(readme.starts_with("# shop-operator\n"), "{readme}");
}

/// Each form of a role, with and without namespaces, passes `check` and `test` at once.
#[test]
fn each_new_kind_passes_its_checks_and_its_scenario() {
    let folder = TempDir::new().unwrap();
    let done = |line: &str| {
        let (code, stdout, stderr) = run(folder.path(), line);
        assert_eq!(code, Some(0), "{line}: {stdout}{stderr}");
        (stdout, stderr)
    };
    done("init shop.example.com --name web-shop");
    done("check");
    done("new api Site --group web.example.com");
    done("new api WebPolicy --group web.example.com --pipeline --version v1");
    done("new api Zone --group web.example.com --cluster");
    done("new api Region --group web.example.com --cluster --pipeline");
    done("new role helper");
    done("new role steps --pipeline");
    done("new test again --kind Zone");
    let checked = done("check");
    assert_eq!(
        checked,
        (String::new(), "no errors or warnings\n".to_owned())
    );
    done("generate --check");
    let (_, summary) = done("test");
    assert!(summary.starts_with("5 scenarios, all passed"), "{summary}");
    let crd = folder
        .path()
        .join("deploy/crds/web.example.com_webpolicies.yaml");
    assert!(crd.is_file());
}

#[test]
fn the_deploy_folder_of_this_repository_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (code, stdout, stderr) = run(root, "generate --check");
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn scenario_tests_need_no_permission_that_the_roles_do_not_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().unwrap();
    let deploy = folder.path().display();
    let done = |line: &str| {
        let (code, stdout, stderr) = run(root, line);
        assert_eq!(code, Some(0), "{line}: {stdout}{stderr}");
        stdout
    };
    let crds = folder.path().join("crds");
    std::fs::create_dir(&crds).unwrap();
    for file in std::fs::read_dir(root.join("deploy/crds")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), crds.join(file.file_name())).unwrap();
    }
    let settings = std::fs::read_to_string(root.join("deploy/settings.yaml")).unwrap();
    let settings = format!("{settings}recorded: recorded.yaml\n");
    std::fs::write(folder.path().join("settings.yaml"), settings).unwrap();
    done(&format!("test --record-rbac {deploy}/recorded.yaml"));
    let recorded = std::fs::read_to_string(folder.path().join("recorded.yaml")).unwrap();
    assert!(recorded.contains("[deployments]"), "{recorded}");
    let joined = done(&format!("generate rbac --deploy-dir {deploy}"));
    let derived = std::fs::read_to_string(root.join("deploy/cluster-role.yaml")).unwrap();
    assert_eq!(joined, derived);
    // A permission that no role shows is added.
    let rule = "- {apiGroups: [batch], resources: [jobs], verbs: [create]}\n";
    std::fs::write(folder.path().join("recorded.yaml"), rule).unwrap();
    let joined = done(&format!("generate rbac --deploy-dir {deploy}"));
    assert!(
        joined.contains("# jobs: recorded by scenario tests"),
        "{joined}"
    );
}

#[test]
fn manifests_are_checked_written_and_removed() {
    let folder = TempDir::new().unwrap();
    let path = |file: &str| folder.path().join(file);
    run(folder.path(), "init shop.example.com");
    run(folder.path(), "new api Site --group web.example.com");
    let name = "name: shop-operator\n";
    let settings = format!("{name}replicas: 2\nmonitoring: true\n");
    std::fs::write(path("deploy/settings.yaml"), settings).unwrap();
    let lines = |line: &str, expected: i32| {
        let (code, stdout, stderr) = run(folder.path(), line);
        assert_eq!(code, Some(expected), "{line}: {stdout}{stderr}");
        let changed = stdout.lines().filter(|line| !line.ends_with(": unchanged"));
        changed.map(str::to_owned).collect::<Vec<_>>()
    };
    let stale = lines("generate --check", 1);
    let command = "run rhai-operator generate manifests";
    lines("generate helm", 0);
    lines("generate bundle packages/olm", 0);
    assert!(path("packages/olm/metadata/annotations.yaml").is_file());
    for line in [
        format!("./deploy/manager.yaml: out of date; {command}"),
        format!("./deploy/pod-disruption-budget.yaml: missing; {command}"),
        format!("./deploy/monitoring/dashboard.json: missing; {command}"),
    ] {
        assert!(stale.contains(&line), "{line}: {stale:#?}");
    }
    lines("generate", 0);
    assert_eq!(lines("generate --check", 0), [""; 0]);
    // A package in its default folder counts, and so does a CRD in it that the project no longer has.
    let values = std::fs::read_to_string(path("chart/values.yaml")).unwrap();
    std::fs::write(
        path("chart/values.yaml"),
        values.replace("replicas: 2", "replicas: 3"),
    )
    .unwrap();
    let crd = std::fs::read_to_string(path("chart/crds/web.example.com_sites.yaml")).unwrap();
    std::fs::write(path("chart/crds/old.yaml"), crd).unwrap();
    let command_of_chart = "run rhai-operator generate helm";
    let expected = [
        format!("./chart/crds/old.yaml: not needed; {command_of_chart}"),
        format!("./chart/values.yaml: out of date; {command_of_chart}"),
    ];
    assert_eq!(lines("generate --check", 1), expected);
    lines("generate", 0);
    assert!(!path("chart/crds/old.yaml").exists());
    std::fs::remove_dir_all(path("chart")).unwrap();
    std::fs::write(path("deploy/settings.yaml"), name).unwrap();
    let stale = lines("generate manifests --check", 1);
    let obsolete = format!("./deploy/pod-disruption-budget.yaml: not needed; {command}");
    assert!(stale.contains(&obsolete), "{stale:#?}");
    lines("generate manifests", 0);
    assert!(!path("deploy/pod-disruption-budget.yaml").exists());
    assert!(!path("deploy/monitoring/dashboard.json").exists());
    // The user owns a file without the mark.
    std::fs::write(path("deploy/manager.yaml"), "kind: Deployment\n").unwrap();
    let kept = lines("generate --check", 0);
    assert!(
        kept[0].starts_with("./deploy/manager.yaml: kept"),
        "{kept:#?}"
    );
    lines("generate", 0);
    let text = std::fs::read_to_string(path("deploy/manager.yaml")).unwrap();
    assert_eq!(text, "kind: Deployment\n");
}

#[test]
fn a_crd_is_checked_written_and_kept_from_breaking_changes() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), "init shop.example.com");
    run(folder.path(), "new api Site --group web.example.com");
    let meta = folder.path().join("roles/site/meta/main.yaml");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, text.replace("maximum: 10", "maximum: 5")).unwrap();
    let file = "deploy/crds/web.example.com_sites.yaml";
    let breaking = "./deploy/crds/web.example.com_sites.yaml: error: v1alpha1: spec.size: maximum changes from 10 to 5\n  hint: keep the previous values valid, and let the role call fail() for those it cannot serve\n";
    let (code, stdout, stderr) = run(folder.path(), "generate crd --check");
    assert_eq!(code, Some(1));
    assert!(stdout.contains("out of date"), "{stdout}");
    assert_eq!(stderr, breaking);
    let before = std::fs::read_to_string(folder.path().join(file)).unwrap();
    let (code, _, stderr) = run(folder.path(), "generate crd");
    assert_eq!((code, &*stderr), (Some(1), breaking));
    let after = std::fs::read_to_string(folder.path().join(file)).unwrap();
    assert_eq!(before, after);
    let (code, stdout, _) = run(folder.path(), "generate crd site --allow-breaking");
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.ends_with(": updated\n"), "{stdout}");
    let (code, ..) = run(folder.path(), "generate crd --check");
    assert_eq!(code, Some(0));
    let (code, _, stderr) = run(folder.path(), "generate crd sites");
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("the role \"sites\" serves no kind"),
        "{stderr}"
    );
}

#[test]
fn explain_prints_functions_and_keys_and_proposes_the_nearest() {
    let folder = Path::new(".");
    let (code, stdout, _) = run(folder, "explain k8s_apply");
    assert_eq!(code, Some(0));
    assert!(stdout.starts_with("k8s_apply("), "{stdout}");
    let (code, stdout, _) = run(folder, "explain reconcilePeriod");
    assert_eq!(code, Some(0));
    let expected = "reconcilePeriod (watches.yaml, entry): Time between periodic runs";
    assert!(stdout.starts_with(expected), "{stdout}");
    let (code, stdout, stderr) = run(folder, "explain k8s_aply");
    assert_eq!((code, &*stdout), (Some(1), ""));
    let error =
        "error: cannot find a function or key \"k8s_aply\"\n  hint: did you mean \"k8s_apply\"?\n";
    assert_eq!(stderr, error);
    let (code, stdout, _) = run(folder, "explain");
    assert_eq!(code, Some(0));
    assert!(stdout.contains("\n  wait_ready "), "{stdout}");
}

#[test]
fn completions_and_man_pages_name_all_commands() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, stdout, stderr) = run(folder.path(), &format!("completions {shell}"));
        assert_eq!(code, Some(0), "{stderr}");
        for word in ["generate", "allow-breaking", "leader-elect"] {
            assert!(stdout.contains(word), "{shell} without {word}");
        }
    }
    let (code, _, stderr) = run(folder.path(), "completions cmd");
    assert_eq!(code, Some(2), "{stderr}");
    let (code, stdout, stderr) = run(folder.path(), "man pages/man1");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("pages/man1/rhai-operator.1\n"), "{stdout}");
    let page = folder
        .path()
        .join("pages/man1/rhai-operator-generate-crd.1");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("allow\\-breaking"), "{page}");
}
