//! Rewrites templates so that they call functions of [`crate::host::template`] where the template engine has
//! no hook.
//!
//! The engine limits the steps of a rendering. It limits neither the size of a value nor the time between
//! two steps, and it does not distinguish text that the template rendered from data.
//!
//! | in the template | becomes | since |
//! |---|---|---|
//! | `a ~ b`, `a + b`, `a * b` | `__concat(a ,b)`, `__add(a ,b)`, `__multiply(a ,b)` | operators multiply |
//! | `f(a)`, `a[1:]`, `[a]`, `{a: b}`, `(a, b)` | `__value(f(a))` … | calls, slices and literals combine values |
//! | `{% set a.b = c %}` | `{% set a.b = __stored((c)) %}` | a namespace outlives a round of a loop |
//! | `{% set a %}`, `{% filter f %}` | `{% set a \| __value %}`, `{% filter __value \| f %}` | they capture text |
//! | `{% for … %}`, `{% macro … %}` | `{% for … %}{% do __checkpoint() %}` | they repeat |
//!
//! The rewrite keeps the lines, so that errors name the right one.

use minijinja::machinery::ast::{BinOpKind, Call, CallArg, Expr, Macro, Set, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

/// The function for `left ~ right`.
pub(crate) const CONCAT: &str = "__concat";
/// The function for `left + right`.
pub(crate) const ADD: &str = "__add";
/// The function for `left * right`.
pub(crate) const MULTIPLY: &str = "__multiply";
/// The function, and the filter, that every combined value passes.
pub(crate) const VALUE: &str = "__value";
/// The function that a value passes on its way into a namespace.
pub(crate) const STORED: &str = "__stored";
/// The function that each round of a loop, and each call of a macro, begins with.
pub(crate) const CHECKPOINT: &str = "__checkpoint";

const RESERVED: [&str; 6] = [CONCAT, ADD, MULTIPLY, VALUE, STORED, CHECKPOINT];

/// Rewrites a template. Fails if it does not parse or uses one of the reserved names.
pub(crate) fn rewrite(text: &str, syntax: &SyntaxConfig) -> Result<String, Error> {
    let root = parse(text, "", syntax.clone())?;
    let tokens = tokenize(text, false, syntax.clone()).collect::<Result<Vec<_>, _>>()?;
    let reserved = tokens.iter().find_map(|(token, _)| match token {
        Token::Ident(name) if RESERVED.contains(name) => Some(name),
        _ => None,
    });
    if let Some(name) = reserved {
        let message = format!("`{name}` is a reserved name");
        return Err(Error::new(ErrorKind::SyntaxError, message));
    }
    let mut rewriter = Rewriter {
        text,
        tokens,
        edits: Vec::new(),
    };
    rewriter.statement(&root);
    Ok(rewriter.result())
}

/// Text that replaces `cut` bytes at an offset.
struct Edit {
    offset: usize,
    cut: usize,
    text: String,
}

struct Rewriter<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, Span)>,
    edits: Vec<Edit>,
}

impl Rewriter<'_> {
    fn result(mut self) -> String {
        // The sort is stable: of two edits at one offset, that of the outer expression came first where both
        // expressions begin, and last where both end.
        self.edits.sort_by_key(|edit| edit.offset);
        let mut result = String::with_capacity(self.text.len() + 16 * self.edits.len());
        let mut from = 0;
        for edit in &self.edits {
            result.push_str(&self.text[from..edit.offset]);
            result.push_str(&edit.text);
            from = edit.offset + edit.cut;
        }
        result.push_str(&self.text[from..]);
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
            Stmt::EmitExpr(it) => match &it.expr {
                // The output of a call is checked and counted when it is written.
                Expr::Call(call) => self.call(call),
                other => self.expression(other),
            },
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::ForLoop(it) => {
                self.expressions([&it.iter].into_iter().chain(&it.filter_expr));
                self.checkpoint(it.span());
                self.statements(&it.body);
                self.statements(&it.else_body);
            }
            Stmt::IfCond(it) => {
                self.expression(&it.expr);
                self.statements(&it.true_body);
                self.statements(&it.false_body);
            }
            Stmt::WithBlock(it) => {
                self.expressions(it.assignments.iter().map(|(_, value)| value));
                self.statements(&it.body);
            }
            Stmt::Set(it) => self.set(it),
            Stmt::SetBlock(it) => {
                self.insert(it.target.span().end_offset, format!(" | {VALUE}"));
                self.expressions(&it.filter);
                self.statements(&it.body);
            }
            Stmt::AutoEscape(it) => {
                self.expression(&it.enabled);
                self.statements(&it.body);
            }
            Stmt::FilterBlock(it) => {
                self.insert(first_leaf(&it.filter), format!("{VALUE} | "));
                self.expression(&it.filter);
                self.statements(&it.body);
            }
            Stmt::Block(it) => self.statements(&it.body),
            Stmt::Import(it) => self.expression(&it.expr),
            Stmt::FromImport(it) => self.expression(&it.expr),
            Stmt::Extends(it) => self.expression(&it.name),
            Stmt::Include(it) => self.expression(&it.name),
            Stmt::Macro(it) => {
                self.checkpoint(it.span());
                self.in_macro(it);
            }
            Stmt::CallBlock(it) => {
                self.call(&it.call);
                self.in_macro(&it.macro_decl);
            }
            Stmt::Do(it) => self.call(&it.call),
        }
    }

    fn in_macro(&mut self, it: &Macro<'_>) {
        self.expressions(&it.defaults);
        self.statements(&it.body);
    }

    fn set(&mut self, it: &Set<'_>) {
        let target = it.target.span().end_offset;
        let after = |(_, span): &&(Token<'_>, Span)| span.start_offset >= target;
        let mut tokens = self.tokens.iter().filter(after);
        let assign = tokens.find(|(token, _)| matches!(token, Token::Assign));
        let end = tokens.find(|(token, _)| matches!(token, Token::BlockEnd));
        match (&it.target, assign, end) {
            (Expr::GetAttr(_), Some((_, assign)), Some((_, end))) => {
                let (start, end) = (assign.end_offset, end.start_offset);
                self.insert(start, format!(" {STORED}(("));
                self.expression(&it.expr);
                self.insert(end, ")) ".to_owned());
            }
            _ => self.expression(&it.expr),
        }
    }

    /// Inserts a checkpoint after the tag that begins at a keyword. It ends as the tag does, so that white
    /// space is trimmed as before.
    fn checkpoint(&mut self, keyword: Span) {
        let end = self.tokens.iter().find(|(token, span)| {
            span.start_offset >= keyword.start_offset && matches!(token, Token::BlockEnd)
        });
        if let Some((_, span)) = end {
            let span = *span;
            let close = &self.text[span.start_offset as usize..span.end_offset as usize];
            let call = format!("{{% do {CHECKPOINT}() {close}");
            self.insert(span.end_offset, call);
        }
    }

    fn expressions<'e, 's: 'e>(&mut self, all: impl IntoIterator<Item = &'e Expr<'s>>) {
        for one in all {
            self.expression(one);
        }
    }

    fn call(&mut self, call: &Call<'_>) {
        self.expression(&call.expr);
        self.arguments(&call.args);
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
            Expr::UnaryOp(it) => self.expression(&it.expr),
            Expr::BinOp(it) => match it.op {
                BinOpKind::Concat => self.operator(CONCAT, &it.left, &it.right, it.span()),
                BinOpKind::Add => self.operator(ADD, &it.left, &it.right, it.span()),
                BinOpKind::Mul => self.operator(MULTIPLY, &it.left, &it.right, it.span()),
                _ => self.expressions([&it.left, &it.right]),
            },
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
            Expr::Slice(it) => {
                let bounds = it.start.iter().chain(&it.stop).chain(&it.step);
                let all: Vec<_> = [&it.expr].into_iter().chain(bounds).collect();
                self.wrap_suffix(&it.expr, it.span(), |rewriter| rewriter.expressions(all));
            }
            Expr::Call(it) => {
                self.wrap_suffix(&it.expr, it.span(), |rewriter| rewriter.call(it));
            }
            Expr::List(it) => self.literal(&it.items.iter().collect::<Vec<_>>(), it.span()),
            Expr::Tuple(it) => {
                let items: Vec<_> = it.items.iter().collect();
                match self.tokens[self.last_token(it.span())].0 {
                    Token::ParenClose => self.literal(&items, it.span()),
                    _ => self.expressions(items),
                }
            }
            Expr::Map(it) => {
                let items = it.keys.iter().zip(&it.values);
                let items: Vec<_> = items.flat_map(|(key, value)| [key, value]).collect();
                self.literal(&items, it.span());
            }
        }
    }

    fn operator(&mut self, function: &str, left: &Expr<'_>, right: &Expr<'_>, span: Span) {
        // Operators of one precedence are grouped from the left: the last one outside of brackets is it.
        let mut depth = 0;
        let mut operator = None;
        for (token, at) in &self.tokens {
            if at.start_offset < span.start_offset || at.end_offset > span.end_offset {
                continue;
            }
            let is_operator = match token {
                Token::Tilde => function == CONCAT,
                Token::Plus => function == ADD,
                Token::Mul => function == MULTIPLY,
                _ => false,
            };
            if depth == 0 && is_operator {
                operator = Some(at.start_offset as usize);
            }
            depth += nesting(token);
        }
        self.insert(span.start_offset, format!("{function}("));
        self.expression(left);
        self.edits.extend(operator.map(|offset| Edit {
            offset,
            cut: 1,
            text: ",".to_owned(),
        }));
        self.expression(right);
        self.insert(span.end_offset, ")".to_owned());
    }

    /// Wraps a list, a tuple or a map, unless it is constant or a tuple without brackets.
    fn literal(&mut self, items: &[&Expr<'_>], span: Span) {
        let last = self.last_token(span);
        let is_bracketed = self.tokens[self.opening(last)].1.start_offset == span.start_offset;
        let is_constant = items.iter().all(|item| matches!(item, Expr::Const(_)));
        if is_constant || !is_bracketed {
            return self.expressions(items.iter().copied());
        }
        self.insert(span.start_offset, format!("{VALUE}("));
        self.expressions(items.iter().copied());
        self.insert(span.end_offset, ")".to_owned());
    }

    /// Wraps a call or a slice, which ends with a bracket. Its span does not begin where it does.
    fn wrap_suffix(&mut self, operand: &Expr<'_>, span: Span, inner: impl FnOnce(&mut Self)) {
        let bracket = self.opening(self.last_token(span));
        let start = self.start_before(operand, bracket);
        self.insert(start, format!("{VALUE}("));
        inner(self);
        self.insert(span.end_offset, ")".to_owned());
    }

    /// Returns where an operand begins that ends before a token, with the brackets around it.
    fn start_before(&self, operand: &Expr<'_>, end: usize) -> u32 {
        let leaf = first_leaf(operand);
        let mut start = leaf;
        let mut depth = 0;
        for (at, (token, span)) in self.tokens[..end].iter().enumerate() {
            if span.start_offset < leaf {
                continue;
            }
            depth += nesting(token);
            if depth < 0 {
                start = self.tokens[self.opening(at)].1.start_offset;
                depth = 0;
            }
        }
        start
    }

    /// Returns the last token of a span.
    fn last_token(&self, span: Span) -> usize {
        let is_within = |(_, it): &(Token<'_>, Span)| it.end_offset <= span.end_offset;
        self.tokens.iter().rposition(is_within).unwrap_or_default()
    }

    /// Returns the bracket that the one at `close` closes.
    fn opening(&self, close: usize) -> usize {
        let mut depth = 0;
        let found = self.tokens[..=close].iter().rposition(|(token, _)| {
            depth -= nesting(token);
            depth == 0
        });
        found.unwrap_or_default()
    }

    fn insert(&mut self, offset: u32, text: String) {
        self.edits.push(Edit {
            offset: offset as usize,
            cut: 0,
            text,
        });
    }
}

/// Returns by how many brackets the text after a token is deeper.
fn nesting(token: &Token<'_>) -> i32 {
    match token {
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => 1,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => -1,
        _ => 0,
    }
}

/// Returns where the first name or constant of an expression is.
fn first_leaf(expression: &Expr<'_>) -> u32 {
    let inner = match expression {
        Expr::Slice(it) => Some(&it.expr),
        Expr::UnaryOp(it) if matches!(it.op, UnaryOpKind::Not) => Some(&it.expr),
        Expr::BinOp(it) => Some(&it.left),
        Expr::Compare(it) => Some(&it.expr),
        Expr::IfExpr(it) => Some(&it.true_expr),
        Expr::Filter(it) => it.expr.as_ref(),
        Expr::Test(it) => Some(&it.expr),
        Expr::GetAttr(it) => Some(&it.expr),
        Expr::GetItem(it) => Some(&it.expr),
        Expr::Call(it) => Some(&it.expr),
        Expr::List(it) => it.items.first(),
        Expr::Tuple(it) => it.items.first(),
        Expr::Map(it) => it.keys.first(),
        Expr::UnaryOp(_) | Expr::Var(_) | Expr::Const(_) => None,
    };
    inner.map_or_else(|| expression.span().start_offset, first_leaf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        rewrite(text, &SyntaxConfig::default()).unwrap()
    }

    const EXPRESSIONS: &[(&str, &str)] = &[
        ("a ~ b", "__concat(a , b)"),
        ("a~b~c", "__concat(__concat(a,b),c)"),
        ("a ~ (b ~ c)", "__concat(a , (__concat(b , c)))"),
        ("(a + b) * c - d", "__multiply((__add(a , b)) , c) - d"),
        (
            "a + b * c ~ d",
            "__add(a , __concat(__multiply(b , c) , d))",
        ),
        ("a|f('~') ~ b is x", "__concat(a|f('~') , b is x)"),
        ("a\n ~ b", "__concat(a\n , b)"),
        ("a == b and c not in d", "a == b and c not in d"),
        ("-(a + b) < c[d + e]", "-(__add(a , b)) < c[__add(d , e)]"),
        (
            "[a + b, {c ~ d: e[f * g]}]",
            "__value([__add(a , b), __value({__concat(c , d): e[__multiply(f , g)]})])",
        ),
        ("[1, 'a', {}, []]", "__value([1, 'a', {}, []])"),
        ("[1, 'a']", "[1, 'a']"),
        ("(a, (1, 2))", "__value((a, (1, 2)))"),
        ("x | f([a], b=(c,))", "x | f(__value([a]), b=__value((c,)))"),
        ("x is in [a]", "x is in __value([a])"),
        ("a[1:]", "__value(a[1:])"),
        (
            "(a.b)[::-1][c:[d]]",
            "__value(__value((a.b)[::-1])[c:__value([d])])",
        ),
        ("f(*a, b=c ~ d)", "f(*a, b=__concat(c , d))"),
        ("f(g())", "f(__value(g()))"),
        (
            "(f(1)).h() ~ m.f() | g",
            "__concat(__value((__value(f(1))).h()) , __value(m.f()) | g)",
        ),
        (
            "a if b() else [c][0].d()",
            "a if __value(b()) else __value(__value([c])[0].d())",
        ),
    ];

    #[test]
    fn operators_calls_slices_and_literals_become_calls() {
        for (text, expected) in EXPRESSIONS {
            let (text, expected) = (format!("{{{{ {text} }}}}"), format!("{{{{ {expected} }}}}"));
            assert_eq!(rewritten(&text), expected, "{text}");
        }
    }

    const STATEMENTS: &[(&str, &str)] = &[
        ("{% set a = b %}", "{% set a = b %}"),
        (
            "{% set a.b = c, [d] %}",
            "{% set a.b = __stored(( c, __value([d]) )) %}",
        ),
        ("{% set a.b=c -%}", "{% set a.b= __stored((c )) -%}"),
        (
            "{% set a %}{% endset %}",
            "{% set a | __value %}{% endset %}",
        ),
        (
            "{% set a.b | f %}{% endset %}",
            "{% set a.b | __value | f %}{% endset %}",
        ),
        (
            "{% filter f | g(x()) %}{% endfilter %}",
            "{% filter __value | f | g(__value(x())) %}{% endfilter %}",
        ),
        (
            "{%- for a in b if c() -%} d {% endfor %}",
            "{%- for a in b if __value(c()) -%}{% do __checkpoint() -%} d {% endfor %}",
        ),
        (
            "{% for a, b in c recursive %}\n{% endfor %}",
            "{% for a, b in c recursive %}{% do __checkpoint() %}\n{% endfor %}",
        ),
        (
            "{% macro m(a, b=[c]) +%}{% endmacro %}",
            "{% macro m(a, b=__value([c])) +%}{% do __checkpoint() +%}{% endmacro %}",
        ),
        (
            "{% call(y) m([a]) %}{{ caller() }}{% endcall %}",
            "{% call(y) m(__value([a])) %}{{ caller() }}{% endcall %}",
        ),
        (
            "{% include [a] %}{% do f([a]) %}",
            "{% include __value([a]) %}{% do f(__value([a])) %}",
        ),
    ];

    #[test]
    fn statements_are_rewritten() {
        for (text, expected) in STATEMENTS {
            assert_eq!(rewritten(text), *expected, "{text}");
        }
    }

    #[test]
    fn operators_are_found_in_every_statement() {
        let text = "{% for x in a + b if c + d %}{{ a + b }}{% else %}{{ a + b }}{% endfor %}\
            {% if a + b %}{{ a + b }}{% elif a + b %}{{ a + b }}{% else %}{{ a + b }}{% endif %}\
            {% with x = a + b %}{{ a + b }}{% endwith %}{% set x = a + b %}{% set x.y = a + b %}\
            {% set y | f(a + b) %}{{ a + b }}{% endset %}{% filter f(a + b) %}{{ a + b }}{% endfilter %}\
            {% autoescape a + b %}{{ a + b }}{% endautoescape %}{% block b %}{{ a + b }}{% endblock %}\
            {% include a + b %}{% import a + b as i %}{% from a + b import c %}\
            {% macro m(x=a + b) %}{{ a + b }}{% endmacro %}{% call(y) m(a + b) %}{{ a + b }}{% endcall %}\
            {% do m(a + b) %}{{ x[a + b:c + d:a + b] }}{{ -(a + b) }}{{ a + b < c + d }}{{ (a + b, c) }}";
        let called = rewritten(text);
        assert!(!called.contains('+'), "{called}");
        assert_eq!(text.matches('+').count(), called.matches(ADD).count());
    }

    #[test]
    fn reserved_names_are_refused() {
        for text in [
            "{% macro __value(x) %}{{ x }}{% endmacro %}",
            "{% set __concat = 1 %}",
        ] {
            let error = rewrite(text, &SyntaxConfig::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SyntaxError, "{text}");
        }
    }

    #[test]
    fn text_without_operators_stays() {
        let text = "a ~ b\n{# c ~ d #}{% raw %}{{ e ~ f }}{% endraw %}{{ '~' - 1 }}\n";
        assert_eq!(rewritten(text), text);
    }
}
