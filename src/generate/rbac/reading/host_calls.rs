//! Reads calls of host functions.

use rhai::{Expr, Position};

use super::Reading;
use super::syntax::{is_own_namespace, type_of};
use super::values::{Scope, Unit};
use crate::generate::rbac::api_use::{Operation, Site};
use crate::generate::rbac::manifest_text;
use crate::generate::rbac::objects::{Manifest, ObjectSet};
use crate::model::Gvk;
use crate::script::Program;

/// Operators and functions whose result contains no object.
const PLAIN: [&str; 19] = [
    "==", "!=", "<", "<=", ">", ">=", "!", "-", "*", "/", "%", "in", "contains", "len", "is_empty",
    "type_of", "keys", "sha256", "index_of",
];

/// The arguments of a call.
pub(super) struct Arguments<'a> {
    /// The value before the dot.
    pub(super) receiver: Option<&'a ObjectSet>,
    /// The arguments in parentheses.
    pub(super) expressions: &'a [Expr],
    /// The objects of the arguments in parentheses.
    pub(super) objects: &'a [ObjectSet],
}

impl<'a> Arguments<'a> {
    /// Returns the objects of an argument; the receiver is the first.
    fn objects(&self, index: usize) -> ObjectSet {
        let mut all = self.receiver.into_iter().chain(self.objects);
        all.nth(index).cloned().unwrap_or_default()
    }

    /// Returns an argument; a receiver has no expression.
    fn expression(&self, index: usize) -> Option<&'a Expr> {
        let index = index.checked_sub(usize::from(self.receiver.is_some()))?;
        self.expressions.get(index)
    }

    fn len(&self) -> usize {
        usize::from(self.receiver.is_some()) + self.expressions.len()
    }

    /// Returns whether an option has the constant value `false`.
    fn is_false(&self, index: usize, key: &str) -> bool {
        match self.expression(index) {
            Some(Expr::Map(map, _)) => {
                let mut entries = map.0.iter();
                entries.any(|(name, value)| {
                    name.as_str() == key && matches!(value, Expr::BoolConstant(false, _))
                })
            }
            Some(Expr::DynamicConstant(options, _)) => {
                let options = options.as_map_ref();
                options.is_ok_and(|map| {
                    map.get(key)
                        .is_some_and(|value| value.as_bool() == Ok(false))
                })
            }
            _ => false,
        }
    }

    /// Returns whether the options name a namespace other than `meta.namespace`.
    fn option_names_namespace(&self, index: usize) -> bool {
        match self.expression(index) {
            Some(Expr::Map(map, _)) => {
                let mut entries = map.0.iter();
                entries
                    .any(|(name, value)| name.as_str() == "namespace" && !is_own_namespace(value))
            }
            Some(Expr::DynamicConstant(options, _)) => {
                let options = options.as_map_ref();
                options.is_ok_and(|map| map.contains_key("namespace"))
            }
            _ => false,
        }
    }

    /// Returns the objects of the kind that the first two arguments name.
    fn of_named_kind(&self, names_namespace: bool) -> ObjectSet {
        let gvk = match (self.expression(0), self.expression(1)) {
            (Some(version), Some(kind)) => type_of(version, kind),
            _ => None,
        };
        let Some(gvk) = gvk else {
            return ObjectSet::computed();
        };
        ObjectSet::of_manifest(Manifest {
            gvk,
            names_namespace,
            grants: Vec::new(),
        })
    }
}

impl<'r> Reading<'r> {
    /// Reads a call of a function that no script defines. Returns the objects of its result.
    pub(super) fn native_call(
        &mut self,
        scope: &Scope<'r>,
        name: &str,
        arguments: &Arguments<'_>,
        position: Position,
    ) -> ObjectSet {
        let (call, operation, objects) = match name {
            "k8s_get" if arguments.len() >= 3 => {
                let namespace = arguments.expression(3);
                let objects =
                    arguments.of_named_kind(namespace.is_some_and(|it| !is_own_namespace(it)));
                ("k8s_get", Operation::Read, objects)
            }
            "k8s_get" => ("k8s_get", Operation::Read, arguments.objects(0)),
            "k8s_list" => {
                let objects = arguments.of_named_kind(arguments.option_names_namespace(2));
                ("k8s_list", Operation::Read, objects)
            }
            "k8s_apply" => {
                let operation = if arguments.is_false(1, "owner") {
                    Operation::ApplyShared
                } else {
                    Operation::Apply
                };
                ("k8s_apply", operation, arguments.objects(0))
            }
            "k8s_ensure" => ("k8s_ensure", Operation::Apply, arguments.objects(1)),
            "k8s_create" => ("k8s_create", Operation::Create, arguments.objects(0)),
            "k8s_delete" => ("k8s_delete", Operation::Delete, arguments.objects(0)),
            "k8s_patch" => ("k8s_patch", Operation::Patch, arguments.objects(0)),
            "k8s_scale" => ("k8s_scale", Operation::Scale, arguments.objects(0)),
            "wait_ready" => ("wait_ready", Operation::Read, arguments.objects(0)),
            "wait_for" => ("wait_for", Operation::Read, arguments.objects(0)),
            "wait_gone" => ("wait_gone", Operation::Read, arguments.objects(0)),
            "ensure_secret" => {
                let secret = ObjectSet::of_kind(Gvk::new("", "v1", "Secret"));
                ("ensure_secret", Operation::Create, secret)
            }
            "include_role" => {
                let name = match arguments.expression(0) {
                    Some(Expr::StringConstant(name, _)) => Some(name.to_string()),
                    _ => None,
                };
                let site = self.site(scope, position, "include_role");
                self.record_role(site, name);
                return ObjectSet::computed();
            }
            "template_objects" | "template" => {
                return self.templates(&name_pattern(arguments.expression(0)));
            }
            "file" => return self.files(&name_pattern(arguments.expression(0))),
            _ => return Self::pass_through(name, arguments),
        };
        // A function that nothing calls has empty parameters, which are not computed ones.
        if !objects.manifests.is_empty() || self.values.is_called(scope) {
            let site = self.site(scope, position, call);
            self.record(&site, operation, &objects);
        }
        objects
    }

    /// Returns the union of the arguments of a function that the host or the engine defines.
    fn pass_through(name: &str, arguments: &Arguments<'_>) -> ObjectSet {
        if PLAIN.contains(&name) {
            return ObjectSet::default();
        }
        let receiver = arguments.receiver.into_iter();
        let all: Vec<_> = receiver.chain(arguments.objects).cloned().collect();
        ObjectSet::union(&all)
    }

    /// Returns the place of a call.
    fn site(&self, scope: &Scope<'r>, position: Position, call: &'static str) -> Site {
        let program: &Program = self.entry.program();
        let (file, line, column) = match scope.unit {
            Unit::File(path) => {
                let (line, column) = Program::line_and_column(position);
                (path, line, column)
            }
            Unit::Snippet(snippet) => program.locate(snippet, position),
        };
        Site {
            role: self.role.name.clone(),
            file: file.to_owned(),
            line,
            column,
            call,
        }
    }

    /// Returns the objects of the templates that a pattern selects.
    pub(super) fn templates(&self, pattern: &Pattern) -> ObjectSet {
        let templates = self.role.templates.templates();
        let selected = templates.filter(|(name, _)| pattern.selects(name));
        let mut objects: ObjectSet = selected
            .map(|(_, template)| manifest_text::objects(&self.with_includes(template.source(), 8)))
            .collect();
        objects.is_computed |= objects.is_empty();
        objects
    }

    /// Returns the source of a template with the sources of the templates that it includes by name.
    fn with_includes(&self, source: &str, depth: usize) -> String {
        let mut text = source.to_owned();
        let names = source.split("{%").filter_map(included_name);
        for name in names.filter(|_| depth > 0) {
            if let Ok(template) = self.role.templates.get_template(name) {
                text.push_str("\n---\n");
                text.push_str(&self.with_includes(template.source(), depth - 1));
            }
        }
        text
    }

    /// Returns the objects of the files that a pattern selects.
    pub(super) fn files(&self, pattern: &Pattern) -> ObjectSet {
        let files = self.role.files.iter();
        let selected = files.filter(|(name, _)| pattern.selects(name));
        let texts = selected.filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok());
        texts.map(manifest_text::objects_of_literal).collect()
    }
}

/// Returns the name in an `include` statement of a template.
fn included_name(statement: &str) -> Option<&str> {
    let rest = statement.trim_start_matches('-').trim_start();
    let rest = rest.strip_prefix("include")?.trim_start();
    let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
    rest[1..].split(quote).next()
}

/// The names of templates or files that a call can use.
pub(super) struct Pattern(Option<regex::Regex>);

impl Pattern {
    /// Builds a pattern from literal parts. `None` is a computed part, which matches any text.
    pub(super) fn new<'t>(parts: impl Iterator<Item = Option<&'t str>>) -> Self {
        let parts = parts.map(|part| match part {
            Some(text) => regex::escape(text)
                .replace(r"\*\*/", "(?:.*/)?")
                .replace(r"\*\*", ".*")
                .replace(r"\*", "[^/]*")
                .replace(r"\?", "[^/]"),
            None => ".*".to_owned(),
        });
        Self(regex::Regex::new(&format!("^{}$", parts.collect::<String>())).ok())
    }

    fn selects(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|pattern| pattern.is_match(name))
    }
}

/// Returns the pattern of a name in a script.
fn name_pattern(name: Option<&Expr>) -> Pattern {
    match name {
        Some(Expr::StringConstant(text, _)) => Pattern::new([Some(text.as_str())].into_iter()),
        Some(Expr::InterpolatedString(parts, _)) => {
            Pattern::new(parts.iter().map(|part| match part {
                Expr::StringConstant(text, _) => Some(text.as_str()),
                _ => None,
            }))
        }
        _ => Pattern::new([None].into_iter()),
    }
}
