//! Tests of loading roles and projects.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::*;
use crate::model::Diagnostic;
use crate::model::access::{Access, AccessScope};
use crate::script::Engine;
use crate::watches::Environment;

fn toolchain() -> Toolchain {
    Toolchain {
        engine: Engine::new(Vec::new(), &["spec", "vars"]),
        templates: |_| {},
    }
}

/// Creates a folder with these files.
fn mk_folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(folder.path(), files);
    folder
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn load_role(folder: &TempDir) -> Result<LoadedRole, Vec<Diagnostic>> {
    load(folder.path(), "web", &toolchain())
}

/// Returns diagnostics as text, with paths relative to the folder.
fn messages(folder: &TempDir, problems: &[Diagnostic]) -> Vec<String> {
    let root = format!("{}/", folder.path().display());
    let problems = problems.iter();
    problems
        .map(|problem| problem.to_string().replace(&root, ""))
        .collect()
}

fn errors(folder: &TempDir) -> Vec<String> {
    messages(folder, &load_role(folder).unwrap_err())
}

const MAIN: (&str, &str) = ("tasks/main.rhai", "let size = spec.size; size + 1");

#[test]
fn a_role_has_all_that_its_folder_has() {
    let folder = mk_folder(&[
        MAIN,
        ("tasks/finalize.rhai", "1"),
        ("defaults/main.yml", "size: 3\nmode: 0644\n"),
        ("vars/main.yaml", "# nothing yet\n"),
        ("templates/deploy/web.j2", "name: {{ name }}"),
        ("files/a/b.bin", "bytes"),
        ("files/.hidden", "no"),
        ("README.md", "no"),
        (
            "meta/main.yaml",
            "description: Serves.\npermissions: {api: [{apiGroups: [apps], resources: [deployments], verbs: [get]}], env: [A_*]}\ninputs: {size: {type: integer, default: 1, minimum: 1}}\n",
        ),
    ]);
    let LoadedRole { role, notes } = load_role(&folder).unwrap();
    assert_eq!(notes, []);
    assert_eq!(&*role.name, "web");
    assert_eq!(role.description, "Serves.");
    assert!(role.finalize.is_some());
    assert_eq!(
        Value::Object(role.defaults),
        json!({"size": 3, "mode": 420})
    );
    assert_eq!(role.vars, Map::new());
    let rendered = role.templates.get_template("deploy/web.j2").unwrap();
    assert_eq!(
        rendered
            .render(minijinja::context! { name => "a" })
            .unwrap(),
        "name: a"
    );
    assert_eq!(role.files.keys().collect::<Vec<_>>(), ["a/b.bin"]);
    let access = |verb| Access {
        verb,
        group: "apps",
        resource: "deployments",
        scope: AccessScope::Namespace("n"),
        name: "web",
    };
    assert!(role.permissions.allows(&access("get"), Some("n")));
    assert!(!role.permissions.allows(&access("delete"), Some("n")));
    assert_eq!(role.permissions.env, ["A_*"]);
    assert_eq!(role.inputs["size"].kind, Kind::Integer);
}

#[test]
fn all_errors_of_a_role_are_reported_together() {
    let folder = mk_folder(&[
        ("tasks/main.yml", "- k8s: {}"),
        ("defaults/main.yml", "a: 1"),
        ("defaults/main.yaml", "a: 2"),
        ("vars/main.yaml", "- a\n"),
        ("templates/bad.j2", "a: 1\nb: {% if %}"),
        (
            "templates/names.j2",
            "{{ a | upper }}\n{{ a | upcase }} {{ rang(3) }}",
        ),
        ("meta/main.yaml", "descripton: x\n"),
    ]);
    assert_eq!(
        errors(&folder),
        [
            "defaults/main.yml: error: main.yaml exists too: remove one of them",
            "meta/main.yaml:1:1: error: unknown key \"descripton\"\n  hint: did you mean \"description\"?",
            "tasks/main.yml:1:3: error: k8s is an Ansible module\n  hint: write apply or delete",
            "templates/bad.j2:2:10: error: unexpected end of block",
            "templates/names.j2:2:8: error: unknown filter \"upcase\"",
            "templates/names.j2:2:21: error: unknown function \"rang\"\n  hint: did you mean \"range\"?",
            "vars/main.yaml:1:1: error: expected a map of variables, found a list",
        ]
    );
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let problems = load(Path::new("no/such/role"), "web", &toolchain()).unwrap_err();
    let said = problems[0].to_string();
    assert!(
        said.starts_with("no/such/role: error: cannot read"),
        "{said}"
    );
}

#[test]
fn ansible_only_files_are_warnings() {
    let folder = mk_folder(&[
        MAIN,
        ("handlers/main.yml", ""),
        ("defaults/main.yml", "a: 1\nb: ['{{ c }}']\n"),
    ]);
    let LoadedRole { notes, .. } = load_role(&folder).unwrap();
    assert_eq!(
        messages(&folder, &notes),
        [
            "defaults/main.yml:2:5: warning: {{ }} is plain text here; Ansible reads it as a template\n  hint: compute the value in the role",
            "handlers: warning: ignoring handlers/: only Ansible uses it",
        ]
    );
}

#[test]
fn a_misspelled_folder_is_a_warning() {
    let folder = mk_folder(&[MAIN, ("default/main.yaml", "a: 1"), ("notes/a.md", "")]);
    let LoadedRole { role, notes } = load_role(&folder).unwrap();
    assert!(role.defaults.is_empty());
    assert_eq!(
        messages(&folder, &notes),
        [
            "default: warning: ignoring default/: a role has no such folder\n  hint: did you mean \"defaults\"?"
        ]
    );
}

#[test]
fn a_link_that_leaves_the_role_is_refused_and_one_inside_is_followed() {
    let outside = mk_folder(&[("secret", "s")]);
    let folder = mk_folder(&[MAIN, ("files/real.txt", "x")]);
    symlink("real.txt", folder.path().join("files/link.txt")).unwrap();
    assert_eq!(&*load_role(&folder).unwrap().role.files["link.txt"], b"x");

    symlink(
        outside.path().join("secret"),
        folder.path().join("files/leak"),
    )
    .unwrap();
    symlink(outside.path(), folder.path().join("templates")).unwrap();
    symlink("..", folder.path().join("files/loop")).unwrap();
    symlink("nowhere", folder.path().join("files/dangling")).unwrap();
    let errors = errors(&folder);
    assert_eq!(errors.len(), 4, "{errors:#?}");
    assert!(
        errors[0].starts_with("files/dangling: error: cannot read"),
        "{errors:#?}"
    );
    assert_eq!(
        errors[1..],
        [
            "files/leak: error: cannot follow a link to a file outside the role",
            "files/loop: error: cannot follow a link to a folder that contains it",
            "templates: error: cannot follow a link to a file outside the role",
        ]
    );
}

#[test]
fn unreadable_files_are_not_reported_as_absent() {
    let outside = mk_folder(&[MAIN, ("main.rhai", "1")]);
    let refused = "error: cannot follow a link to a file outside the role";
    let folder = mk_folder(&[("files/a", "1")]);
    symlink(outside.path().join("tasks"), folder.path().join("tasks")).unwrap();
    assert_eq!(errors(&folder), [format!("tasks: {refused}")]);

    let folder = mk_folder(&[("tasks/other.rhai", "1")]);
    let main = folder.path().join("tasks/main.rhai");
    symlink(outside.path().join("main.rhai"), main).unwrap();
    assert_eq!(errors(&folder), [format!("tasks/main.rhai: {refused}")]);
}

#[test]
fn a_digest_changes_with_any_file_that_counts() {
    let folder = mk_folder(&[MAIN, ("files/a", "1"), ("README.md", "1")]);
    let digest = || load_role(&folder).unwrap().role.digest;
    let before = digest();
    write(folder.path(), &[("README.md", "2")]);
    assert_eq!(digest(), before);
    write(folder.path(), &[("files/a", "2")]);
    let after = digest();
    assert_ne!(after, before);
    fs::rename(folder.path().join("files/a"), folder.path().join("files/b")).unwrap();
    assert_ne!(digest(), after);
}

#[test]
fn variables_are_merged_in_the_order_of_the_layers() {
    let folder = mk_folder(&[
        MAIN,
        (
            "defaults/main.yml",
            "{a: 1, b: 1, c: 1, d: 1, e: 1, deep: {a: 1, b: 1}}",
        ),
        ("vars/main.yml", "{b: 2, c: 2, d: 2, e: 2}"),
    ]);
    let role = load_role(&folder).unwrap().role;
    let map = |value: Value| value.as_object().unwrap().clone();
    let spec = map(json!({"c": 3, "d": 3, "e": 3, "deep": {"b": 3, "camelCase": 3}}));
    let watch = map(json!({"d": 4, "e": 4}));
    let finalizer = map(json!({"e": 5, "a": null}));
    let merged = variables(&role, &spec, &watch, Some(&finalizer), true);
    assert_eq!(
        Value::Object(merged),
        json!({"b": 2, "c": 3, "d": 4, "e": 5, "deep": {"a": 1, "b": 3, "camel_case": 3}})
    );
    let merged = variables(&role, &spec, &watch, None, false);
    assert_eq!(merged["deep"], json!({"a": 1, "b": 3, "camelCase": 3}));
    assert_eq!(merged["e"], json!(4));
}

#[test]
fn defaults_of_inputs_are_beneath_everything_and_named_like_the_spec() {
    let folder = mk_folder(&[
        MAIN,
        (
            "meta/main.yaml",
            "inputs: {a: {type: integer, default: 0}, b: {type: integer, default: 0}, \
             podSize: {type: object, properties: {maxCpu: {type: integer, default: 1}}}}",
        ),
        ("defaults/main.yml", "{a: 1}"),
    ]);
    let role = load_role(&folder).unwrap().role;
    let empty = Map::new();
    let vars = |snake_case| Value::Object(variables(&role, &empty, &empty, None, snake_case));
    assert_eq!(
        vars(false),
        json!({"a": 1, "b": 0, "podSize": {"maxCpu": 1}})
    );
    assert_eq!(vars(true)["pod_size"], json!({"max_cpu": 1}));
}

fn load_project(folder: &TempDir) -> Result<Project, Vec<Diagnostic>> {
    let root = folder.path();
    let environment = Environment::default();
    Project::load(
        &root.join("watches.yaml"),
        &root.join("roles"),
        &environment,
        &toolchain(),
    )
}

#[test]
fn a_project_has_the_roles_of_its_folder_and_those_named_by_path() {
    let folder = mk_folder(&[
        (
            "watches.yaml",
            "- {version: v1, kind: A, role: web, snakeCaseParameters: false, watchClusterScopedResources: true}\n- {version: v1, kind: B, role: ../elsewhere/db}\n",
        ),
        ("roles/web/tasks/main.rhai", "1"),
        ("roles/included/tasks/main.rhai", "1"),
        ("roles/.placeholder/x", ""),
        ("elsewhere/db/tasks/main.rhai", "1"),
    ]);
    let project = load_project(&folder).unwrap();
    assert_eq!(project.watches.len(), 2);
    let names: Vec<_> = project.roles.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["../elsewhere/db", "included", "web"]);
    assert_eq!(&*project.roles.get("../elsewhere/db").unwrap().name, "db");
}

#[test]
fn errors_of_watches_and_roles_are_reported_together() {
    let folder = mk_folder(&[
        (
            "watches.yaml",
            "- {version: v1, kind: A, role: wep, timeout: never}\n- version: v1\n  kind: B\n  role: ''\n- {version: v1, kind: C, role: web, finalizer: {name: a/b, role: gone}}\n",
        ),
        ("roles/web/tasks/main.rhai", "1"),
        ("roles/empty/README.md", ""),
    ]);
    let problems = messages(&folder, &load_project(&folder).unwrap_err());
    assert_eq!(
        problems,
        [
            "watches.yaml:1:32: error: cannot find the role \"wep\"\n  hint: did you mean \"web\"?",
            "watches.yaml:1:46: error: timeout: expected a duration like 30s, 5m or 1h30m, found \"never\"",
            "watches.yaml:4:9: error: role: expected the name of a role, found \"\"",
            "watches.yaml:5:66: error: cannot find the role \"gone\"\n  hint: create the folder roles/gone",
            "roles/empty: error: cannot find tasks/main.rhai or tasks/main.yaml\n  hint: create tasks/main.rhai, a script, or tasks/main.yaml, a list of steps",
        ]
    );
}

#[test]
fn a_finalize_script_without_a_finalizer_is_a_warning() {
    let folder = mk_folder(&[
        (
            "watches.yaml",
            "- {group: a.example.com, version: v1, kind: A, role: web}\n- {version: v1, kind: B, role: web, finalizer: {name: a/b}}\n",
        ),
        ("roles/web/tasks/main.rhai", "1"),
        ("roles/web/tasks/finalize.rhai", "1"),
    ]);
    let notes = load_project(&folder).unwrap().notes;
    let warnings: Vec<_> = messages(&folder, &notes)
        .into_iter()
        .filter(|note| note.contains("warning"))
        .collect();
    assert_eq!(
        warnings,
        [
            "watches.yaml:1:54: warning: tasks/finalize.rhai of the role \"web\" never runs: the watch has no finalizer\n  hint: add finalizer: {name: a.example.com/finalizer}"
        ]
    );
}

/// Waits for a change; the runner's own time limit is the deadline.
async fn changes(watch: &mut FileWatch, change: impl FnOnce()) {
    change();
    watch.changed().await;
}

#[tokio::test]
async fn an_edited_a_new_and_a_removed_file_are_noticed() {
    let folder = mk_folder(&[("watches.yaml", "[]"), ("roles/web/tasks/main.rhai", "1")]);
    let root = folder.path();
    let mut watch = FileWatch::start(&root.join("watches.yaml"), &root.join("roles"));
    changes(&mut watch, || write(root, &[("watches.yaml", "[ ]")])).await;
    changes(&mut watch, || {
        write(root, &[("roles/web/tasks/main.rhai", "2")]);
    })
    .await;
    changes(&mut watch, || {
        write(root, &[("roles/new/tasks/main.rhai", "2")]);
    })
    .await;
    changes(&mut watch, || {
        fs::remove_dir_all(root.join("roles/web")).unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_log_beside_the_project_is_not_a_change() {
    // As users name it: by a path from where they are.
    let folder = TempDir::new_in(".").unwrap();
    let root = Path::new(".").join(folder.path().file_name().unwrap());
    write(
        &root,
        &[("watches.yaml", "[]"), ("roles/web/tasks/main.rhai", "1")],
    );
    let (file, roles, log) = (
        root.join("watches.yaml"),
        root.join("roles"),
        root.join("log"),
    );
    let mut watch = FileWatch::start(&file, &roles);
    // To this one the log is watches.yaml: when it has seen the change, the other might have, too.
    let mut marker = FileWatch::start(&log, &roles);
    changes(&mut marker, || write(&root, &[("log", "started")])).await;
    assert!(futures::FutureExt::now_or_never(watch.changed()).is_none());
    changes(&mut watch, || write(&root, &[("watches.yaml", "[ ]")])).await;
}

#[tokio::test]
async fn watches_may_lie_among_the_roles() {
    let folder = mk_folder(&[("watches.yaml", "[]"), ("web/tasks/main.rhai", "1")]);
    let root = folder.path();
    let mut watch = FileWatch::start(&root.join("watches.yaml"), root);
    changes(&mut watch, || write(root, &[("web/tasks/main.rhai", "2")])).await;
    changes(&mut watch, || write(root, &[("watches.yaml", "[ ]")])).await;
}

#[tokio::test]
async fn the_swap_of_a_mounted_config_map_is_noticed() {
    let folder = mk_folder(&[
        ("mount/..1/watches.yaml", "[]"),
        ("mount/..2/watches.yaml", "[ ]"),
        ("roles/web/tasks/main.rhai", "1"),
    ]);
    let mount = folder.path().join("mount");
    symlink("..1", mount.join("..data")).unwrap();
    symlink("..data/watches.yaml", mount.join("watches.yaml")).unwrap();
    let file = mount.join("watches.yaml");
    let mut watch = FileWatch::start(&file, &folder.path().join("roles"));
    changes(&mut watch, || {
        symlink("..2", mount.join("..data_tmp")).unwrap();
        fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap();
    })
    .await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "[ ]");
}

#[tokio::test]
async fn reading_is_not_a_change() {
    let folder = mk_folder(&[("watches.yaml", "[]"), ("roles/web/tasks/main.rhai", "1")]);
    let root = folder.path();
    let mut watch = FileWatch::start(&root.join("watches.yaml"), &root.join("roles"));
    load_project(&folder).unwrap();
    // Loading the project caused no change. The write below is the first one.
    assert!(futures::FutureExt::now_or_never(watch.changed()).is_none());
    changes(&mut watch, || write(root, &[("watches.yaml", "[ ]")])).await;
}

/// The threads of tests have stacks of 2 MiB.
#[test]
fn files_with_the_maximum_nesting_are_loaded() {
    let nested = |levels: usize| "[".repeat(levels) + "1" + &"]".repeat(levels);
    for (levels, fits) in [(390, true), (401, false)] {
        let value = nested(levels);
        let defaults = format!("deep: {value}\n");
        let inputs = format!("inputs: {{deep: {{type: array, default: {value}}}}}\n");
        let pipeline =
            format!("steps:\n- name: a\n  vars: {{deep: {value}}}\n  set: {{b: {value}}}\n");
        for file in [
            ("defaults/main.yaml", &defaults),
            ("meta/main.yaml", &inputs),
            ("tasks/main.yaml", &pipeline),
        ] {
            let mut files = vec![(file.0, file.1.as_str())];
            if file.0 != "tasks/main.yaml" {
                files.push(MAIN);
            }
            let folder = mk_folder(&files);
            let errors =
                load_role(&folder).map_or_else(|errors| messages(&folder, &errors), |_| Vec::new());
            let too_deep = |error: &String| error.contains("nested more than 400 levels deep");
            assert_eq!(errors.iter().any(too_deep), !fits, "{}: {errors:?}", file.0);
        }
    }
}
