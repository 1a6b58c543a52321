//! Loads a [`Role`] from a folder: reads, parses, compiles, checks. Reports all errors at once.

use std::path::Path;
use std::sync::Arc;

use minijinja::Environment;
use serde_json::{Map, Value};

use super::compiled_role::Role;
use super::entries::Entries;
use super::meta::{self, Meta};
use super::template_names::{self, UnknownName};
use super::template_rewrite;
use super::template_size::{self, MAX_TOKENS};
use super::template_structure::{self, Finding};
use super::toolchain::Toolchain;
use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::diagnostics::Diagnostics;
use crate::model::yaml::{Content, Node};
use crate::pipeline::Source;
use crate::role_files::RoleFiles;
use crate::script::Sources;

/// Loads the role in a folder under a name. Fails with all its errors, warnings and notes.
pub fn load(path: &Path, name: &str, toolchain: &Toolchain) -> Result<LoadedRole, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let role = RoleFiles::read(path, &mut problems).and_then(|folder| {
        let loading = RoleLoader {
            folder: &folder,
            toolchain,
            problems: &mut problems,
        };
        loading.role(name)
    });
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    match role {
        Some(role) if !problems.iter().any(Diagnostic::is_error) => Ok(LoadedRole {
            role,
            notes: problems,
        }),
        _ => Err(problems),
    }
}

struct RoleLoader<'a> {
    folder: &'a RoleFiles,
    toolchain: &'a Toolchain,
    problems: &'a mut Vec<Diagnostic>,
}

impl RoleLoader<'_> {
    fn role(mut self, name: &str) -> Option<Role> {
        let Meta {
            description,
            inputs,
            permissions,
        } = self.meta();
        let defaults = self.variables("defaults");
        let vars = self.variables("vars");
        let templates = self.templates();
        let sources = self.sources(name);
        let source = Source {
            files: self.folder,
            templates: &templates,
            engine: &self.toolchain.engine,
            sources: &sources,
            role: name,
        };
        let (entry, finalize) = Entries::new(source, self.problems).load();
        let files = self.folder.below("files");
        Some(Role {
            name: Arc::from(name),
            digest: self.folder.digest(),
            description,
            entry: entry?,
            finalize,
            defaults,
            vars,
            templates: Arc::new(templates),
            files: files
                .map(|(path, bytes)| (path.to_owned(), bytes.clone()))
                .collect(),
            permissions,
            inputs,
            words: Arc::new(self.folder.words()),
        })
    }

    /// Returns the text of the `main.yaml` of a folder, and a collector of its diagnostics.
    fn main_yaml(&mut self, folder: &str) -> Option<(&str, Diagnostics)> {
        let file = self.folder.yaml(&format!("{folder}/main"), self.problems)?;
        let text = self.folder.text(&file, self.problems)?;
        Some((text, Diagnostics::new(self.folder.path.join(file))))
    }

    fn meta(&mut self) -> Meta {
        let Some((text, findings)) = self.main_yaml("meta") else {
            return Meta::default();
        };
        let meta = meta::read(text, &findings);
        self.problems.extend(findings.into_vec());
        meta
    }

    fn variables(&mut self, folder: &str) -> Map<String, Value> {
        let Some((text, findings)) = self.main_yaml(folder) else {
            return Map::new();
        };
        let root = findings.parse(text);
        let variables = match root.as_ref().map(|root| (root, root.to_value())) {
            Some((_, Value::Object(map))) => map,
            Some((_, Value::Null)) | None => Map::new(),
            Some((root, _)) => {
                let message = format!("expected a map of variables, found {}", root.content.kind());
                findings.error(root.position, message, "");
                Map::new()
            }
        };
        if let Some(node) = root.as_ref().and_then(first_template) {
            let message = "{{ }} is plain text here; Ansible reads it as a template";
            findings.warning(node.position, message, "compute the value in the role");
        }
        self.problems.extend(findings.into_vec());
        variables
    }

    fn templates(&mut self) -> Environment<'static> {
        let mut environment = Environment::new();
        (self.toolchain.templates)(&mut environment);
        let folder = self.folder;
        for (name, _) in folder.below("templates") {
            let file = format!("templates/{name}");
            let Some(text) = folder.text(&file, self.problems) else {
                continue;
            };
            if let Some(offset) = template_size::too_long(text, environment.syntax()) {
                let message = format!("expression of more than {MAX_TOKENS} tokens");
                let long = UnknownName {
                    offset,
                    message,
                    near: None,
                };
                let problem = self.unknown_name(&file, text, long);
                self.problems
                    .push(problem.hint("split it with {% set %}, or move data to vars/main.yaml"));
                continue;
            }
            if let Err(error) = environment.add_template_owned(name.to_owned(), text.to_owned()) {
                self.problems.push(self.in_template(&file, text, &error));
                continue;
            }
            for unknown in template_names::unknown(&environment, text) {
                self.problems.push(self.unknown_name(&file, text, unknown));
            }
            if template_structure::is_yaml(name) {
                let findings = template_structure::in_template(text, environment.syntax());
                self.warn(&file, text, &findings);
            }
            let called = template_rewrite::rewrite(text, environment.syntax());
            let called =
                called.and_then(|text| environment.add_template_owned(name.to_owned(), text));
            if let Err(error) = called {
                self.problems.push(self.in_template(&file, text, &error));
            }
        }
        environment
    }

    fn unknown_name(&self, file: &str, text: &str, unknown: UnknownName) -> Diagnostic {
        let UnknownName {
            offset,
            message,
            near,
        } = unknown;
        let before = text.get(..offset).unwrap_or_default();
        let (line, column) = (before.matches('\n').count() + 1, column_after(before));
        let problem = Diagnostic::error(self.folder.path.join(file), line, column, message);
        match near {
            Some(near) => problem.hint(format!("did you mean {near:?}?")),
            None => problem,
        }
    }

    fn warn(&mut self, file: &str, text: &str, findings: &[Finding]) {
        for finding in findings {
            let before = text.get(..finding.offset).unwrap_or_default();
            let (line, column) = (before.matches('\n').count() + 1, column_after(before));
            let path = self.folder.path.join(file);
            let problem = Diagnostic::error(path, line, column, finding.message);
            self.problems
                .push(problem.severity(Severity::Warning).hint(finding.hint));
        }
    }

    fn in_template(&self, file: &str, text: &str, error: &minijinja::Error) -> Diagnostic {
        let line = error.line().unwrap_or(0);
        let before = error.range().and_then(|range| text.get(..range.start));
        let column = before.map_or(0, column_after);
        let kind = error.kind().to_string();
        let message = error.detail().map_or(kind, str::to_owned);
        Diagnostic::error(self.folder.path.join(file), line, column, message)
    }

    /// Returns the files of `tasks/` as sources. Messages quote the text of files of steps.
    fn sources(&mut self, name: &str) -> Sources {
        let folder = self.folder;
        let mut sources = Sources::new(name, &folder.path);
        for (path, _) in folder.below("tasks") {
            let file = format!("tasks/{path}");
            let ending = Path::new(path)
                .extension()
                .and_then(|ending| ending.to_str());
            let problems = match ending {
                Some("rhai") => &mut *self.problems,
                // The parser of the steps reports these errors.
                Some("yaml" | "yml") => &mut Vec::new(),
                _ => continue,
            };
            if let Some(text) = folder.text(&file, problems) {
                sources.insert(file.clone(), text);
                self.warn(&file, text, &template_structure::in_script(text));
            }
        }
        sources
    }
}

/// Returns the column, from 1, of the character after a text.
fn column_after(text: &str) -> usize {
    let line = text.rsplit('\n').next().unwrap_or(text);
    line.chars().count() + 1
}

/// Returns the first string that is a template in Ansible.
fn first_template(node: &Node) -> Option<&Node> {
    match &node.content {
        Content::String(text) => text.contains("{{").then_some(node),
        Content::List(items) => items.iter().find_map(first_template),
        Content::Map(entries) => entries.iter().find_map(|(_, value)| first_template(value)),
        _ => None,
    }
}

/// A loaded role with its warnings and notes.
#[derive(Debug)]
pub struct LoadedRole {
    /// The role.
    pub role: Role,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
}
