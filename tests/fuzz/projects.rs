//! `watches.yaml` and the files of a role, edited: a project loads, or says where it has an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use rhai_operator::host;
use rhai_operator::model::Diagnostic;
use rhai_operator::role::{Project, Toolchain};
use rhai_operator::watches::{self, Environment};

use test_harness::edit::{self, Edit};

static TOOLCHAIN: LazyLock<Toolchain> = LazyLock::new(host::toolchain);

/// Files of `watches.yaml`, those with errors too.
static WATCHES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let mut files = files(&root().join("tests/watches"));
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    files.push(root().join("watches.yaml"));
    files
});

/// Files of roles: the role's folder, and the path within it.
static ROLE_FILES: LazyLock<Vec<(PathBuf, PathBuf)>> = LazyLock::new(|| {
    let folders = ["roles", "tests/hostile/roles"].map(|folder| root().join(folder));
    let roles = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut roles: Vec<PathBuf> = roles.map(|role| role.unwrap().path()).collect();
    roles.sort();
    let all = roles.into_iter().flat_map(|role| {
        let all = files(&role).into_iter();
        all.map(move |file| (role.clone(), file.strip_prefix(&role).unwrap().to_owned()))
    });
    all.collect()
});

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Each problem has a place within its file, and can be shown.
fn are_sound(problems: &[Diagnostic]) -> Result<(), String> {
    for problem in problems {
        let shown = problem.to_string();
        if problem.message.is_empty() || problem.line == 0 && problem.column != 0 {
            return Err(format!("a problem without place or message: {shown}"));
        }
    }
    Ok(())
}

fn load_role(role: &Path, edited: &Path, text: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let name = role.file_name().unwrap();
    let to = folder.path().join("roles").join(name);
    for file in files(role) {
        let path = to.join(file.strip_prefix(role).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(file, path).unwrap();
    }
    fs::write(to.join(edited), text).unwrap();
    let watches = folder.path().join("watches.yaml");
    let entry = format!(
        "- {{group: a.b, version: v1, kind: A, role: {}}}\n",
        name.display()
    );
    fs::write(&watches, entry).unwrap();
    let roles = folder.path().join("roles");
    match Project::load(&watches, &roles, &Environment::default(), &TOOLCHAIN) {
        Ok(project) => are_sound(&project.notes),
        Err(problems) if problems.iter().any(Diagnostic::is_error) => are_sound(&problems),
        Err(_) => Err("it does not load, and no error says why".to_owned()),
    }
}

fn changed(file: &Path, edits: &[Edit]) -> Vec<u8> {
    edit::apply(&fs::read(file).unwrap(), edits)
}

proptest! {
    #![proptest_config(edit::config(400))]

    #[test]
    fn an_edited_watches_file_is_read_or_refused(file in any::<Index>(), edits in edit::edits()) {
        let text = changed(&WATCHES[file.index(WATCHES.len())], &edits);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watches.yaml");
        fs::write(&path, &text).unwrap();
        let read = watches::load(&path, &Environment::default());
        let sound = are_sound(&read.problems);
        prop_assert!(sound.is_ok(), "{sound:?}\n{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn an_edited_role_is_loaded_or_refused(file in any::<Index>(), edits in edit::edits()) {
        let (role, file) = file.get(&ROLE_FILES[..]);
        let text = changed(&role.join(file), &edits);
        let loaded = load_role(role, file, &text);
        let text = String::from_utf8_lossy(&text);
        prop_assert!(loaded.is_ok(), "{}: {loaded:?}\n{text}", file.display());
    }
}
