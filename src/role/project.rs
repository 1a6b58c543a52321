//! Loads a project: watches.yaml with the roles that it names.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compiled_role::{Entry, Role};
use super::load::{LoadedRole, load};
use super::roles::Roles;
use super::toolchain::Toolchain;
use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::diagnostics::nearest;
use crate::model::yaml::Position;
use crate::pipeline::RoleCall;
use crate::watches::{self, Environment, Watch, Watches};

/// The watches and roles that the operator serves. A project with an error is not loaded.
#[derive(Debug, Default)]
pub struct Project {
    /// The entries of watches.yaml. `roles` contains the role of each.
    pub watches: Vec<Arc<Watch>>,
    /// All roles of the roles folder, and those that watches name by path.
    pub roles: Arc<Roles>,
    /// Warnings and notes, such as differences from the Ansible operator.
    pub notes: Vec<Diagnostic>,
}

impl Project {
    /// Loads a project. Fails with all errors, warnings and notes.
    pub fn load(
        watches_file: &Path,
        roles_dir: &Path,
        environment: &Environment,
        toolchain: &Toolchain,
    ) -> Result<Self, Vec<Diagnostic>> {
        let Watches {
            entries: watches,
            problems,
        } = watches::load(watches_file, environment);
        let mut loading = ProjectLoader {
            watches_file,
            roles_dir,
            has_watches: !watches.is_empty() || problems.iter().any(Diagnostic::is_error),
            toolchain,
            roles: BTreeMap::new(),
            called: Vec::new(),
            problems,
        };
        loading.roles_folder();
        for watch in &watches {
            loading.references(watch);
        }
        loading.check_calls();
        let ProjectLoader {
            roles,
            mut problems,
            ..
        } = loading;
        // The diagnostics of watches.yaml come first, by position; those of roles keep their order.
        problems.sort_by_key(|problem| {
            let elsewhere = problem.file != watches_file;
            (
                elsewhere,
                if elsewhere {
                    (0, 0)
                } else {
                    (problem.line, problem.column)
                },
            )
        });
        if problems.iter().any(Diagnostic::is_error) {
            return Err(problems);
        }
        let roles = roles
            .into_iter()
            .filter_map(|(name, role)| Some((name, role?)));
        Ok(Self {
            watches,
            roles: Arc::new(roles.collect()),
            notes: problems,
        })
    }
}

/// Returns the names of the roles in a roles folder, including roles with errors.
pub fn role_names(roles_dir: &Path) -> io::Result<Vec<String>> {
    let entries: Vec<_> = fs::read_dir(roles_dir)?.collect::<Result<_, _>>()?;
    let mut names: Vec<_> = entries
        .into_iter()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    Ok(names)
}

/// The error that a role does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{}\n  hint: {hint}", no_role(name))]
pub struct NoSuchRole {
    name: String,
    hint: String,
}

impl NoSuchRole {
    /// Returns the error for a name that is not among the `known` roles of the folder.
    pub fn new(name: &str, known: &[&str], roles_dir: &Path) -> Self {
        Self {
            name: name.to_owned(),
            hint: hint_for_role(name, known, &roles_dir.join(name)),
        }
    }
}

fn no_role(name: &str) -> String {
    format!("cannot find the role {name:?}")
}

/// Returns a hint for the name of a role that does not exist.
fn hint_for_role(name: &str, known: &[&str], folder: &Path) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("create the folder {}", folder.display()),
    }
}

struct ProjectLoader<'a> {
    watches_file: &'a Path,
    roles_dir: &'a Path,
    has_watches: bool,
    toolchain: &'a Toolchain,
    /// The roles by the name that refers to them; `None` for a role with errors.
    roles: BTreeMap<Arc<str>, Option<Arc<Role>>>,
    /// The roles that steps call, with the folder of the calling role.
    called: Vec<(PathBuf, RoleCall)>,
    problems: Vec<Diagnostic>,
}

impl ProjectLoader<'_> {
    /// Loads every folder of the roles folder, because any role can include it.
    fn roles_folder(&mut self) {
        let names = match role_names(self.roles_dir) {
            Ok(names) => names,
            // A new project has no roles yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.has_watches => return,
            Err(error) => {
                let message = format!("cannot read: {error}");
                self.problems
                    .push(Diagnostic::error(self.roles_dir, 0, 0, message));
                return;
            }
        };
        for name in names {
            self.role(&name, &self.roles_dir.join(&name), &name);
        }
    }

    fn role(&mut self, reference: &str, folder: &Path, name: &str) {
        let role = match load(folder, name, self.toolchain) {
            Ok(LoadedRole { role, notes }) => {
                self.problems.extend(notes);
                let entries = std::iter::once(&role.entry).chain(&role.finalize);
                let calls = entries.flat_map(Entry::role_calls);
                self.called
                    .extend(calls.map(|call| (folder.to_owned(), call)));
                Some(Arc::new(role))
            }
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        };
        self.roles.insert(Arc::from(reference), role);
    }

    /// Loads the roles that a watch names.
    fn references(&mut self, watch: &Watch) {
        self.reference(&watch.role, watch.role_position);
        if let Some(finalizer) = &watch.finalizer {
            if let Some(role) = &finalizer.role {
                self.reference(role, finalizer.role_position);
            }
            return;
        }
        let role = self.roles.get(&watch.role).and_then(Option::as_ref);
        if role.is_some_and(|role| role.finalize.is_some()) {
            let message = format!(
                "tasks/finalize.rhai of the role {:?} never runs: the watch has no finalizer",
                &*watch.role
            );
            let domain = Some(&*watch.gvk.group).filter(|group| !group.is_empty());
            let domain = domain.unwrap_or("example.com");
            let hint = format!("add finalizer: {{name: {domain}/finalizer}}");
            let problem = self.problem(watch.role_position, message);
            self.problems
                .push(problem.severity(Severity::Warning).hint(hint));
        }
    }

    /// Reports the roles that steps call and that do not exist.
    fn check_calls(&mut self) {
        for (folder, RoleCall { name, location }) in std::mem::take(&mut self.called) {
            if self.roles.contains_key(&*name) {
                continue;
            }
            // The file begins with the name of the role.
            let file = location.file.split_once('/').map_or("", |(_, path)| path);
            let (line, column) = (location.line, location.column);
            let problem = Diagnostic::error(folder.join(file), line, column, no_role(&name));
            let hint = self.hint(&name, &self.roles_dir.join(&*name));
            self.problems.push(problem.hint(hint));
        }
    }

    /// Returns a hint for the name of a role that does not exist.
    fn hint(&self, name: &str, folder: &Path) -> String {
        let names: Vec<_> = self.roles.keys().map(AsRef::as_ref).collect();
        hint_for_role(name, &names, folder)
    }

    /// Loads the role of a reference: a folder of the roles folder, or with a slash the path of a folder.
    fn reference(&mut self, reference: &str, position: Position) {
        // An empty reference replaces an invalid name, which was reported.
        if reference.is_empty() || self.roles.contains_key(reference) {
            return;
        }
        let path = Path::new(reference);
        let folder = self.roles_dir.join(path);
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|_| reference.contains('/') && folder.is_dir()) {
            self.role(reference, &folder, name);
            return;
        }
        let problem = self.problem(position, no_role(reference));
        let hint = self.hint(name.unwrap_or(reference), &folder);
        self.problems.push(problem.hint(hint));
    }

    fn problem(&self, at: Position, message: String) -> Diagnostic {
        Diagnostic::error(self.watches_file, at.line, at.column, message)
    }
}
