//! Where a fragment uses a variable of the run, and which of its keys.

use std::collections::BTreeSet;

use rhai::{AST, ASTNode, Expr, Position, Stmt};

use super::check;
use super::fragment::Fragment;
use super::program::Program;
use super::sources::resolve;

/// One use of a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mention {
    /// `x` of `results.x` and of `results["x"]`; none where the variable is used as a whole or by a
    /// key that is computed.
    pub key: Option<String>,
    /// Where, if it is in the fragment itself: in the file around it. None for a module's.
    pub place: Option<(usize, usize)>,
}

impl Program {
    /// Where a fragment, or a module that it imports, uses a variable.
    pub fn mentions(&self, fragment: Fragment, variable: &str) -> Vec<Mention> {
        let Some(compiled) = self.fragments.get(fragment.0) else {
            return Vec::new();
        };
        let of_place = |(key, position)| Mention {
            key,
            place: Some(compiled.place(position)),
        };
        let own = uses(&compiled.ast, variable).into_iter().map(of_place);
        let mut mentions: Vec<_> = own.collect();
        let mut seen = BTreeSet::new();
        self.in_modules(
            &compiled.ast,
            &self.entry,
            variable,
            &mut seen,
            &mut mentions,
        );
        mentions
    }

    fn in_modules(
        &self,
        ast: &AST,
        importer: &str,
        variable: &str,
        seen: &mut BTreeSet<String>,
        mentions: &mut Vec<Mention>,
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
            let uses = uses(&file.ast, variable).into_iter();
            mentions.extend(uses.map(|(key, _)| Mention { key, place: None }));
            self.in_modules(&file.ast, &path, variable, seen, mentions);
        }
    }
}

/// The uses in one script, with the place of the key, else of the variable.
fn uses(ast: &AST, variable: &str) -> Vec<(Option<String>, Position)> {
    let mut uses = Vec::new();
    ast.walk(&mut |path: &[ASTNode]| {
        if let Some(ASTNode::Expr(Expr::Variable(parts, _, position))) = path.last()
            && parts.1 == variable
        {
            match path.iter().rev().nth(1) {
                // What a closure takes along is used in its body.
                Some(
                    ASTNode::Expr(Expr::FnCall(call, _)) | ASTNode::Stmt(Stmt::FnCall(call, _)),
                ) if call.name == "curry" => {}
                Some(ASTNode::Expr(Expr::Dot(chain, ..) | Expr::Index(chain, ..)))
                    if is_variable(&chain.lhs, *position) =>
                {
                    uses.push(key(&chain.rhs).unwrap_or((None, *position)));
                }
                _ => uses.push((None, *position)),
            }
        }
        true
    });
    uses
}

fn is_variable(expression: &Expr, position: Position) -> bool {
    matches!(expression, Expr::Variable(.., at) if *at == position)
}

/// The first key of what follows a variable.
fn key(rest: &Expr) -> Option<(Option<String>, Position)> {
    match rest {
        Expr::Property(property, position) => Some((Some(property.2.to_string()), *position)),
        Expr::StringConstant(text, position) => Some((Some(text.to_string()), *position)),
        Expr::Dot(chain, ..) | Expr::Index(chain, ..) => key(&chain.lhs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::Engine;
    use super::super::fragment::{Excerpt, Form, Places};
    use super::super::sources::Sources;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Option<&str>]) {
        let engine = Engine::new(vec![], &["spec"]);
        let mut places = Places::default();
        places.add(0, 1, 1);
        let excerpt = Excerpt {
            form: Form::Script,
            file: "a.yaml".into(),
            text: text.into(),
            places,
            variables: ["results"].into(),
            elsewhere: &[],
        };
        let mut sources = Sources::new("", "");
        sources.insert("m.rhai", "fn f() { results.far }");
        let (program, problems) = engine.compile_excerpts(&sources, "a.yaml", &[excerpt]);
        assert_eq!(problems, [], "{text}");
        let mentions = program.mentions(Fragment(0), "results");
        let keys: Vec<_> = mentions
            .iter()
            .map(|mention| mention.key.as_deref())
            .collect();
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
    fn what_is_no_key_is_the_whole() {
        check("results", &[None]);
        check("results.len()", &[None]);
        check("results[spec.name]", &[None]);
        check("for x in results.keys() { }", &[None]);
    }
}
