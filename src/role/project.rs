//! A project: watches.yaml with the roles that it names, loaded and checked as one.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Entry, Loaded, Role, Roles, Toolchain, load};
use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::diagnostics::nearest;
use crate::model::yaml::Position;
use crate::pipeline::RoleCall;
use crate::watches::{self, Environment, Watch, Watches};

/// Everything that the operator serves, or nothing: a project with one error is not loaded.
#[derive(Debug)]
pub struct Project {
    /// The entries of watches.yaml; the role of each is in `roles`.
    pub watches: Vec<Arc<Watch>>,
    /// All roles of the roles folder and those that watches name by path.
    pub roles: Arc<Roles>,
    /// Warnings and notes, e.g. differences from the Ansible operator.
    pub notes: Vec<Diagnostic>,
}

impl Project {
    /// Loads it; on failure says all that is wrong anywhere in it, warnings and notes included.
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
        let mut loading = Loading {
            watches_file,
            roles_dir,
            toolchain,
            roles: BTreeMap::new(),
            called: Vec::new(),
            problems,
        };
        loading.roles_folder();
        for watch in &watches {
            loading.references(watch);
        }
        loading.calls();
        let Loading {
            roles,
            mut problems,
            ..
        } = loading;
        // watches.yaml comes first, by place; the roles stay in their order.
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

/// The roles of a roles folder, by name; those that are broken too.
pub fn role_names(roles_dir: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(roles_dir)?.flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    Ok(names)
}

/// A role that there is not, among those that there are.
#[derive(Debug, thiserror::Error)]
#[error("{}\n  hint: {hint}", no_role(name))]
pub struct NoSuchRole {
    name: String,
    hint: String,
}

impl NoSuchRole {
    /// The one of a name that is in none of the `known` roles of the folder.
    pub fn new(name: &str, known: &[&str], roles_dir: &Path) -> Self {
        Self {
            name: name.to_owned(),
            hint: meant_role(name, known, &roles_dir.join(name)),
        }
    }
}

fn no_role(name: &str) -> String {
    format!("there is no role {name:?}")
}

/// What may be meant by a role that there is not.
fn meant_role(name: &str, known: &[&str], folder: &Path) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("it would be the folder {}", folder.display()),
    }
}

struct Loading<'a> {
    watches_file: &'a Path,
    roles_dir: &'a Path,
    toolchain: &'a Toolchain,
    /// By the name that is used for it; `None` is there, but broken.
    roles: BTreeMap<Arc<str>, Option<Arc<Role>>>,
    /// The roles that steps call: the role's folder, the name and where it is.
    called: Vec<(PathBuf, RoleCall)>,
    problems: Vec<Diagnostic>,
}

impl Loading<'_> {
    /// Loads every folder of the roles folder: any of them may be included by another role.
    fn roles_folder(&mut self) {
        let names = match role_names(self.roles_dir) {
            Ok(names) => names,
            Err(error) => {
                let message = format!("cannot be read: {error}");
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
            Ok(Loaded { role, notes }) => {
                self.problems.extend(notes);
                let entries = std::iter::once(&role.entry).chain(&role.finalize);
                let calls = entries.flat_map(Entry::calls);
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

    /// Sees to the roles that a watch names.
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
                "tasks/finalize.rhai of the role {:?} is never run here: the watch has no finalizer",
                &*watch.role
            );
            let domain = Some(&*watch.gvk.group).filter(|group| !group.is_empty());
            let domain = domain.unwrap_or("example.com");
            let hint = format!("e.g. finalizer: {{name: {domain}/finalizer}}");
            let problem = self.problem(watch.role_position, message);
            self.problems
                .push(problem.severity(Severity::Warning).hint(hint));
        }
    }

    /// Sees to the roles that steps call.
    fn calls(&mut self) {
        for (folder, RoleCall { name, location }) in std::mem::take(&mut self.called) {
            if self.roles.contains_key(&*name) {
                continue;
            }
            // What errors of a run call the file begins with the name of the role.
            let file = location.file.split_once('/').map_or("", |(_, path)| path);
            let (line, column) = (location.line, location.column);
            let problem = Diagnostic::error(folder.join(file), line, column, no_role(&name));
            let hint = self.hint(&name, &self.roles_dir.join(&*name));
            self.problems.push(problem.hint(hint));
        }
    }

    /// What may be meant by a role that there is not.
    fn hint(&self, name: &str, folder: &Path) -> String {
        let names: Vec<_> = self.roles.keys().map(AsRef::as_ref).collect();
        meant_role(name, &names, folder)
    }

    /// A name is a folder of the roles folder; with a slash it may also be the path of one elsewhere.
    fn reference(&mut self, reference: &str, position: Position) {
        // An empty one stands for a name that was told as wrong.
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
