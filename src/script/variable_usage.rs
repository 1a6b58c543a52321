//! Finds the uses of a run's variables in programs, with the keys that are used.

use std::collections::BTreeSet;

use rhai::{AST, ASTNode, Expr, Position, Stmt};

use super::check;
use super::program::Program;
use super::snippet::{SnippetId, numbers};
use super::sources::resolve;

/// One use of a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableUse {
    /// `x` for `results.x` and `results["x"]`; `None` if the variable is used as a whole or with a computed
    /// key.
    pub key: Option<String>,
    /// Line and column in the file that contains the snippet; `None` in a module.
    pub position: Option<(usize, usize)>,
}

/// A use of a property of a variable: `spec.a["b"]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PropertyUse {
    /// The file, by its path within the role.
    pub file: String,
    /// The keys, with line and column of each.
    pub keys: Vec<(String, (usize, usize))>,
}

impl Program {
    /// Returns the uses of a variable in a snippet and in the modules that it imports.
    pub fn variable_uses(&self, snippet: SnippetId, variable: &str) -> Vec<VariableUse> {
        let Some(compiled) = self.snippets.get(snippet.0) else {
            return Vec::new();
        };
        let own = occurrences(&compiled.ast, variable)
            .into_iter()
            .map(|used| VariableUse {
                position: Some(compiled.file_position(used.position())),
                key: used.first_key(),
            });
        let mut uses: Vec<_> = own.collect();
        let mut seen = BTreeSet::new();
        self.in_modules(&compiled.ast, &self.entry, variable, &mut seen, &mut uses);
        uses
    }

    /// Returns the uses of properties of a variable with constant keys, in all code of the program. Skips
    /// scripts that define a variable of the same name.
    pub fn property_uses(&self, variable: &str) -> Vec<PropertyUse> {
        let shadows = |ast: &AST| {
            check::locals(ast).contains(variable) && !check::captured(ast).contains(variable)
        };
        let mut properties = Vec::new();
        let files = self.files.iter().filter(|(_, file)| !shadows(&file.ast));
        for (path, file) in files {
            for used in occurrences(&file.ast, variable) {
                properties.push(PropertyUse {
                    file: path.clone(),
                    keys: used
                        .keys
                        .iter()
                        .map(|(key, at)| (key.clone(), numbers(*at)))
                        .collect(),
                });
            }
        }
        let prefix = format!("{}/", self.name);
        for compiled in self.snippets.iter().filter(|one| !shadows(&one.ast)) {
            for used in occurrences(&compiled.ast, variable) {
                let keys = used.keys.iter();
                properties.push(PropertyUse {
                    file: compiled
                        .file
                        .strip_prefix(&prefix)
                        .unwrap_or(&compiled.file)
                        .to_owned(),
                    keys: keys
                        .map(|(key, at)| (key.clone(), compiled.file_position(*at)))
                        .collect(),
                });
            }
        }
        properties.retain(|property| !property.keys.is_empty());
        properties.sort();
        properties.dedup();
        properties
    }

    fn in_modules(
        &self,
        ast: &AST,
        importer: &str,
        variable: &str,
        seen: &mut BTreeSet<String>,
        uses: &mut Vec<VariableUse>,
    ) {
        for name in check::imports(ast)
            .into_iter()
            .filter_map(|import| import.name)
        {
            let paths = self.files.keys().map(String::as_str);
            let Ok(path) = resolve(paths, &self.entry, importer, &name) else {
                continue;
            };
            let Some(file) = self.files.get(&path).filter(|_| seen.insert(path.clone())) else {
                continue;
            };
            let found = occurrences(&file.ast, variable).into_iter();
            uses.extend(found.map(|used| VariableUse {
                key: used.first_key(),
                position: None,
            }));
            self.in_modules(&file.ast, &path, variable, seen, uses);
        }
    }
}

/// An occurrence of the variable, with the constant keys that follow it.
struct Occurrence {
    variable: Position,
    keys: Vec<(String, Position)>,
}

impl Occurrence {
    fn first_key(&self) -> Option<String> {
        self.keys.first().map(|(key, _)| key.clone())
    }

    /// Returns the position of the first key, or of the variable if no key follows.
    fn position(&self) -> Position {
        self.keys.first().map_or(self.variable, |(_, at)| *at)
    }
}

fn occurrences(ast: &AST, variable: &str) -> Vec<Occurrence> {
    let mut uses = Vec::new();
    ast.walk(&mut |path: &[ASTNode]| {
        if let Some(ASTNode::Expr(Expr::Variable(parts, _, position))) = path.last()
            && parts.1 == variable
        {
            let mut keys = Vec::new();
            match path.iter().rev().nth(1) {
                // A captured variable is used in the body of the closure.
                Some(
                    ASTNode::Expr(Expr::FnCall(call, _)) | ASTNode::Stmt(Stmt::FnCall(call, _)),
                ) if call.name == "curry" => return true,
                Some(ASTNode::Expr(Expr::Dot(chain, ..) | Expr::Index(chain, ..)))
                    if is_variable(&chain.lhs, *position) =>
                {
                    constant_keys(&chain.rhs, &mut keys);
                }
                _ => {}
            }
            uses.push(Occurrence {
                variable: *position,
                keys,
            });
        }
        true
    });
    uses
}

fn is_variable(expression: &Expr, position: Position) -> bool {
    matches!(expression, Expr::Variable(.., at) if *at == position)
}

/// Collects the keys that follow a variable, up to a computed one. Returns whether all were constant.
fn constant_keys(rest: &Expr, keys: &mut Vec<(String, Position)>) -> bool {
    match rest {
        Expr::Property(property, position) => keys.push((property.2.to_string(), *position)),
        Expr::StringConstant(text, position) => keys.push((text.to_string(), *position)),
        Expr::Dot(chain, ..) | Expr::Index(chain, ..) => {
            return constant_keys(&chain.lhs, keys) && constant_keys(&chain.rhs, keys);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::engine::Engine;
    use super::super::snippet::{PositionMap, Snippet, SnippetForm};
    use super::super::sources::Sources;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Option<&str>]) {
        let engine = Engine::new(vec![], &["spec"]);
        let mut positions = PositionMap::default();
        positions.add(0, 1, 1);
        let snippet = Snippet {
            form: SnippetForm::Script,
            file: "a.yaml".into(),
            text: text.into(),
            positions,
            variables: ["results"].into(),
            elsewhere: &[],
        };
        let mut sources = Sources::new("", "");
        sources.insert("m.rhai", "fn f() { results.far }");
        let (program, problems) = engine.compile_snippets(&sources, "a.yaml", &[snippet]);
        assert_eq!(problems, [], "{text}");
        let uses = program.variable_uses(SnippetId(0), "results");
        let keys: Vec<_> = uses.iter().map(|usage| usage.key.as_deref()).collect();
        assert_eq!(keys, expected, "{text}");
    }

    #[test]
    fn keys_are_found_in_properties_indices_closures_functions_and_modules() {
        check("results.a", &[Some("a")]);
        check("results.a.b.c + spec.results", &[Some("a")]);
        check("results[\"a b\"].c", &[Some("a b")]);
        check("results?.a", &[Some("a")]);
        check("[1].map(|x| x + results.a)", &[Some("a")]);
        check("fn f() { results.a } f()", &[Some("a")]);
        check("`${results.a}`", &[Some("a")]);
        check("import \"m\" as m; m::f()", &[Some("far")]);
    }

    #[test]
    fn a_computed_key_uses_the_whole_variable() {
        check("results", &[None]);
        check("results.len()", &[None]);
        check("results[spec.name]", &[None]);
        check("for x in results.keys() { }", &[None]);
    }
}
