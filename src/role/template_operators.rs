//! Operators of templates that make values out of values, as calls of functions that may refuse.
//!
//! The engine of the templates bounds what a rendering writes and how many steps it takes, but not what
//! an operator makes: a text that is doubled thirty times is larger than any memory. So `a ~ b` is
//! compiled as `__concat(a ,b)`; lines stay what they are.

use minijinja::Error;
use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;

/// `left ~ right`
pub const CONCAT: &str = "__concat";
/// `left + right`
pub const ADD: &str = "__add";
/// `left * right`
pub const MULTIPLY: &str = "__multiply";

/// The template with calls for those operators.
pub fn as_calls(text: &str, syntax: &SyntaxConfig) -> Result<String, Error> {
    let root = parse(text, "", syntax.clone())?;
    let tokens = tokenize(text, false, syntax.clone()).collect::<Result<_, _>>()?;
    let mut rewriting = Rewriting {
        tokens,
        edits: Vec::new(),
    };
    rewriting.statement(&root);
    Ok(rewriting.applied_to(text))
}

struct Rewriting<'a> {
    tokens: Vec<(Token<'a>, Span)>,
    edits: Vec<Edit>,
}

/// Some characters at an offset, in the place of so many that are there.
struct Edit {
    offset: usize,
    cut: usize,
    text: String,
}

impl Rewriting<'_> {
    fn applied_to(mut self, text: &str) -> String {
        // Stable: of two at one place the one of the outer operator came first where both begin, and
        // last where both end.
        self.edits.sort_by_key(|edit| edit.offset);
        let mut result = String::with_capacity(text.len() + 16 * self.edits.len());
        let mut from = 0;
        for Edit {
            offset,
            cut,
            text: inserted,
        } in &self.edits
        {
            result.push_str(text.get(from..*offset).unwrap_or_default());
            result.push_str(inserted);
            from = offset + cut;
        }
        result.push_str(text.get(from..).unwrap_or_default());
        result
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(it) => self.statements(&it.children),
            Stmt::EmitExpr(it) => self.expression(&it.expr),
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::ForLoop(it) => {
                self.expressions([&it.target, &it.iter].into_iter().chain(&it.filter_expr));
                self.statements(&it.body);
                self.statements(&it.else_body);
            }
            Stmt::IfCond(it) => {
                self.expression(&it.expr);
                self.statements(&it.true_body);
                self.statements(&it.false_body);
            }
            Stmt::WithBlock(it) => {
                let assignments = it.assignments.iter();
                self.expressions(assignments.flat_map(|(target, value)| [target, value]));
                self.statements(&it.body);
            }
            Stmt::Set(it) => self.expressions([&it.target, &it.expr]),
            Stmt::SetBlock(it) => {
                self.expressions([&it.target].into_iter().chain(&it.filter));
                self.statements(&it.body);
            }
            Stmt::AutoEscape(it) => {
                self.expression(&it.enabled);
                self.statements(&it.body);
            }
            Stmt::FilterBlock(it) => {
                self.expression(&it.filter);
                self.statements(&it.body);
            }
            Stmt::Block(it) => self.statements(&it.body),
            Stmt::Import(it) => self.expressions([&it.expr, &it.name]),
            Stmt::FromImport(it) => {
                self.expression(&it.expr);
                for (name, alias) in &it.names {
                    self.expressions([name].into_iter().chain(alias));
                }
            }
            Stmt::Extends(it) => self.expression(&it.name),
            Stmt::Include(it) => self.expression(&it.name),
            Stmt::Macro(it) => self.in_macro(it),
            Stmt::CallBlock(it) => {
                self.expression(&it.call.expr);
                self.arguments(&it.call.args);
                self.in_macro(&it.macro_decl);
            }
            Stmt::Do(it) => {
                self.expression(&it.call.expr);
                self.arguments(&it.call.args);
            }
        }
    }

    fn in_macro(&mut self, it: &minijinja::machinery::ast::Macro<'_>) {
        self.expressions(it.args.iter().chain(&it.defaults));
        self.statements(&it.body);
    }

    fn expressions<'e, 's: 'e>(&mut self, all: impl IntoIterator<Item = &'e Expr<'s>>) {
        for one in all {
            self.expression(one);
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) {
        for argument in arguments {
            let (CallArg::Pos(it)
            | CallArg::Kwarg(_, it)
            | CallArg::PosSplat(it)
            | CallArg::KwargSplat(it)) = argument;
            self.expression(it);
        }
    }

    fn expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::Slice(it) => {
                let bounds = it.start.iter().chain(&it.stop).chain(&it.step);
                self.expressions([&it.expr].into_iter().chain(bounds));
            }
            Expr::UnaryOp(it) => self.expression(&it.expr),
            Expr::BinOp(it) => self.operation(it.op, &it.left, &it.right, it.span()),
            Expr::Compare(it) => {
                let others = it.ops.iter().map(|op| &op.expr);
                self.expressions([&it.expr].into_iter().chain(others));
            }
            Expr::IfExpr(it) => {
                let both = [&it.true_expr, &it.test_expr];
                self.expressions(both.into_iter().chain(&it.false_expr));
            }
            Expr::Filter(it) => {
                self.expressions(&it.expr);
                self.arguments(&it.args);
            }
            Expr::Test(it) => {
                self.expression(&it.expr);
                self.arguments(&it.args);
            }
            Expr::GetAttr(it) => self.expression(&it.expr),
            Expr::GetItem(it) => self.expressions([&it.expr, &it.subscript_expr]),
            Expr::Call(it) => {
                self.expression(&it.expr);
                self.arguments(&it.args);
            }
            Expr::List(it) => self.expressions(&it.items),
            Expr::Tuple(it) => self.expressions(&it.items),
            Expr::Map(it) => {
                let entries = it.keys.iter().zip(&it.values);
                self.expressions(entries.flat_map(|(key, value)| [key, value]));
            }
        }
    }

    fn operation(&mut self, op: BinOpKind, left: &Expr<'_>, right: &Expr<'_>, span: Span) {
        let (function, token): (_, fn(&Token<'_>) -> bool) = match op {
            BinOpKind::Concat => (CONCAT, |token| matches!(token, Token::Tilde)),
            BinOpKind::Add => (ADD, |token| matches!(token, Token::Plus)),
            BinOpKind::Mul => (MULTIPLY, |token| matches!(token, Token::Mul)),
            _ => return self.expressions([left, right]),
        };
        let operator = self.operator(span, token);
        self.insert(span.start_offset, 0, format!("{function}("));
        self.expression(left);
        if let Some(operator) = operator {
            self.insert(operator.start_offset, 1, ",".to_owned());
        }
        self.expression(right);
        self.insert(span.end_offset, 0, ")".to_owned());
    }

    fn insert(&mut self, offset: u32, cut: usize, text: String) {
        let offset = offset as usize;
        self.edits.push(Edit { offset, cut, text });
    }

    /// Where the operator of an operation is: operators of one kind are grouped from the left, so that
    /// the last one outside of brackets is it.
    fn operator(&self, of: Span, is: fn(&Token<'_>) -> bool) -> Option<Span> {
        let mut depth = 0;
        let mut found = None;
        let within =
            |span: &Span| span.start_offset >= of.start_offset && span.end_offset <= of.end_offset;
        for (token, span) in self.tokens.iter().filter(|(_, span)| within(span)) {
            match token {
                Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
                Token::ParenClose | Token::BracketClose | Token::BraceClose => depth -= 1,
                token if depth == 0 && is(token) => found = Some(*span),
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str) -> String {
        as_calls(text, &SyntaxConfig::default()).unwrap()
    }

    #[test]
    fn operators_become_calls() {
        for (text, expected) in [
            ("{{ a ~ b }}", "{{ __concat(a , b) }}"),
            ("{{ a~b~c }}", "{{ __concat(__concat(a,b),c) }}"),
            ("{{ a ~ (b ~ c) }}", "{{ __concat(a , (__concat(b , c))) }}"),
            (
                "{{ (a + b) * c - d }}",
                "{{ __multiply((__add(a , b)) , c) - d }}",
            ),
            (
                "{{ a + b * c ~ d }}",
                "{{ __add(a , __concat(__multiply(b , c) , d)) }}",
            ),
            (
                "{{ a|f('~') ~ b is x }}",
                "{{ __concat(a|f('~') , b is x) }}",
            ),
            (
                "{{ [a + b, {c ~ d: e[f * g]}] }}",
                "{{ [__add(a , b), {__concat(c , d): e[__multiply(f , g)]}] }}",
            ),
            (
                "{{ a ~ b if c + d else f(*e, g=h ~ i) }}",
                "{{ __concat(a , b) if __add(c , d) else f(*e, g=__concat(h , i)) }}",
            ),
            ("{{ a\n ~ b }}", "{{ __concat(a\n , b) }}"),
        ] {
            assert_eq!(calls(text), expected, "{text}");
        }
    }

    #[test]
    fn they_are_found_in_every_statement() {
        let text = "{% for x in a + b if c + d %}{{ a + b }}{% else %}{{ a + b }}{% endfor %}\
            {% if a + b %}{{ a + b }}{% elif a + b %}{{ a + b }}{% else %}{{ a + b }}{% endif %}\
            {% with x = a + b %}{{ a + b }}{% endwith %}{% set x = a + b %}\
            {% set y | f(a + b) %}{{ a + b }}{% endset %}{% filter f(a + b) %}{{ a + b }}{% endfilter %}\
            {% autoescape a + b %}{{ a + b }}{% endautoescape %}{% block b %}{{ a + b }}{% endblock %}\
            {% include a + b %}{% import a + b as i %}{% from a + b import c %}\
            {% macro m(x=a + b) %}{{ a + b }}{% endmacro %}{% call(y) m(a + b) %}{{ a + b }}{% endcall %}\
            {% do m(a + b) %}{{ x[a + b:c + d:a + b] }}{{ -(a + b) }}{{ a + b < c + d }}{{ (a + b, c) }}";
        let called = calls(text);
        assert!(!called.contains('+'), "{called}");
        assert_eq!(text.matches('+').count(), called.matches(ADD).count());
    }

    #[test]
    fn what_has_none_stays_as_it_is() {
        let text = "a ~ b\n{# c ~ d #}{% raw %}{{ e ~ f }}{% endraw %}{{ '~' - 1 }}\n";
        assert_eq!(calls(text), text);
    }
}
