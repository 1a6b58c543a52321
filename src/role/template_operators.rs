//! Operators of templates that make values out of values, as calls of functions that may refuse.
//!
//! The engine of the templates bounds what a rendering writes and how many steps it takes, but not what
//! an operator makes: a text that is doubled thirty times is larger than any memory. So `a ~ b` is
//! compiled as `__concat(a ,b)`; lines stay what they are.
//!
//! Nor does it bound what an operator reads, which is one step however long the lists are. So `a == b`
//! is compiled as `a ==__read( b)`.

mod places;

use minijinja::machinery::ast::{BinOpKind, Call, CallArg, Expr, ForLoop, Stmt};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

use self::places::{leftmost, nesting, plain};

/// `left ~ right`
pub const CONCAT: &str = "__concat";
/// `left + right`
pub const ADD: &str = "__add";
/// `left * right`
pub const MULTIPLY: &str = "__multiply";

/// A value that is read from its begin to its end.
pub const READ: &str = "__read";
/// A value that something is looked for in.
pub const SEARCHED: &str = "__searched";
/// A value whose items are gone through, or counted to get at one; and the bytes of plain text that each
/// brings.
pub const ITERATED: &str = "__iterated";
/// A value that a part is taken of.
pub const SLICED: &str = "__sliced";
/// Names of templates that are tried.
pub const NAMED: &str = "__named";
/// A part of a text or a list, as one that is made once.
pub const LIST: &str = "__list";

/// What a template renders into a variable, or by a macro: neither operators nor filters tell it from data.
pub const CAPTURED: &str = "__captured";

/// What a template may not call something of its own.
const OWN: [&str; 10] = [
    CONCAT, ADD, MULTIPLY, READ, SEARCHED, ITERATED, SLICED, NAMED, LIST, CAPTURED,
];

/// Bytes of plain text in a loop that are worth counting: what is caught in a variable is bounded by
/// nothing else.
const PLAIN: usize = 256;

/// An index that costs nothing to count to.
const SMALL: u64 = 255;

/// The template with calls for those operators.
pub fn as_calls(text: &str, syntax: &SyntaxConfig) -> Result<String, Error> {
    let root = parse(text, "", syntax.clone())?;
    let tokens = tokenize(text, false, syntax.clone()).collect::<Result<Vec<_>, _>>()?;
    let own = tokens.iter().find_map(|(token, _)| match token {
        Token::Ident(name) if OWN.contains(name) => Some(name),
        _ => None,
    });
    if let Some(name) = own {
        let message = format!("`{name}` is a name of the engine's own");
        return Err(Error::new(ErrorKind::SyntaxError, message));
    }
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
            Stmt::EmitExpr(it) => match &it.expr {
                // Written as it is rendered.
                Expr::Call(call) => self.call(call, call.span()),
                other => self.expression(other),
            },
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::ForLoop(it) => {
                self.expression(&it.target);
                self.iterated(it);
                self.expressions(&it.filter_expr);
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
                let end = it.target.span().end_offset;
                self.insert(end, 0, format!(" | {CAPTURED}"));
                self.expressions([&it.target].into_iter().chain(&it.filter));
                self.statements(&it.body);
            }
            Stmt::AutoEscape(it) => {
                self.expression(&it.enabled);
                self.statements(&it.body);
            }
            Stmt::FilterBlock(it) => {
                self.insert(leftmost(&it.filter), 0, format!("{CAPTURED} | "));
                self.expression(&it.filter);
                self.statements(&it.body);
            }
            Stmt::Block(it) => self.statements(&it.body),
            Stmt::Import(it) => {
                self.named(&it.expr);
                self.expression(&it.name);
            }
            Stmt::FromImport(it) => {
                self.named(&it.expr);
                for (name, alias) in &it.names {
                    self.expressions([name].into_iter().chain(alias));
                }
            }
            Stmt::Extends(it) => self.named(&it.name),
            Stmt::Include(it) => self.named(&it.name),
            Stmt::Macro(it) => self.in_macro(it),
            Stmt::CallBlock(it) => {
                self.call(&it.call, it.call.span());
                self.in_macro(&it.macro_decl);
            }
            Stmt::Do(it) => self.call(&it.call, it.call.span()),
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

    fn call(&mut self, call: &Call<'_>, span: Span) {
        self.expression(&call.expr);
        // They compare what they are given, and go through it.
        let reads = match &call.expr {
            Expr::Var(it) => it.id == "loop",
            Expr::GetAttr(it) => it.name == "changed",
            _ => false,
        };
        self.arguments(&call.args, span, reads);
    }

    /// Arguments in the parentheses that a span ends with.
    fn arguments(&mut self, arguments: &[CallArg<'_>], span: Span, all: bool) {
        let ranges = match arguments {
            [] => Vec::new(),
            _ => self.ranges(span),
        };
        let mut ranges = ranges.into_iter();
        for argument in arguments {
            let (CallArg::Pos(it)
            | CallArg::Kwarg(_, it)
            | CallArg::PosSplat(it)
            | CallArg::KwargSplat(it)) = argument;
            let splat = matches!(argument, CallArg::PosSplat(_) | CallArg::KwargSplat(_));
            match ranges.next() {
                Some((start, end)) if splat || all => {
                    self.insert(start, 0, format!("{READ}("));
                    self.expression(it);
                    self.insert(end, 0, ")".to_owned());
                }
                _ => self.expression(it),
            }
        }
    }

    fn expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::Slice(it) => {
                let open = self.subscript(it.span());
                let start = self.start(&it.expr, open.start_offset);
                self.insert(start, 0, format!("{LIST}({SLICED}("));
                self.expression(&it.expr);
                self.insert(open.start_offset, 0, ")".to_owned());
                let bounds = it.start.iter().chain(&it.stop).chain(&it.step);
                self.expressions(bounds);
                self.insert(it.span().end_offset, 0, ")".to_owned());
            }
            Expr::UnaryOp(it) => self.expression(&it.expr),
            Expr::BinOp(it) => self.operation(it.op, &it.left, &it.right, it.span()),
            Expr::Compare(it) => {
                let others: Vec<_> = it.ops.iter().map(|op| &op.expr).collect();
                self.comparison(&it.expr, &others, it.span().end_offset);
            }
            Expr::IfExpr(it) => {
                let both = [&it.true_expr, &it.test_expr];
                self.expressions(both.into_iter().chain(&it.false_expr));
            }
            Expr::Filter(it) => {
                self.expressions(&it.expr);
                self.arguments(&it.args, it.span(), false);
            }
            Expr::Test(it) => {
                self.expression(&it.expr);
                self.arguments(&it.args, it.span(), false);
            }
            Expr::GetAttr(it) => self.expression(&it.expr),
            Expr::GetItem(it) => self.item(&it.expr, &it.subscript_expr, it.span()),
            Expr::Call(it) => {
                let end = it.span().end_offset;
                let open = self.tokens[self.opening(self.ending(it.span()))].1;
                let start = self.start(&it.expr, open.start_offset);
                self.insert(start, 0, format!("{CAPTURED}("));
                self.call(it, it.span());
                self.insert(end, 0, ")".to_owned());
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
            BinOpKind::Eq
            | BinOpKind::Ne
            | BinOpKind::Lt
            | BinOpKind::Lte
            | BinOpKind::Gt
            | BinOpKind::Gte
            | BinOpKind::In => return self.comparison(left, &[right], span.end_offset),
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

    /// Comparing reads no more of one side than there is of the other.
    fn comparison(&mut self, first: &Expr<'_>, others: &[&Expr<'_>], end: u32) {
        let operators: Vec<_> = others.iter().map(|it| self.comparing(it)).collect();
        let token = |at: usize| &self.tokens[at].0;
        let starts: Vec<u32> = operators
            .iter()
            .map(|&at| match (at.checked_sub(1).map(token), token(at)) {
                (Some(Token::Ident("not")), Token::Ident("in")) => at - 1,
                _ => at,
            })
            .map(|at| self.tokens[at].1.start_offset)
            .collect();
        let sought = matches!(operators[..], [at, ..] if matches!(token(at), Token::Ident(_)));
        if sought {
            let start = self.start(first, starts[0]);
            self.insert(start, 0, format!("{READ}("));
            self.expression(first);
            self.insert(starts[0], 0, ")".to_owned());
        } else {
            self.expression(first);
        }
        for (index, &at) in operators.iter().enumerate() {
            let (token, span) = &self.tokens[at];
            let function = match token {
                Token::Ident(_) => SEARCHED,
                _ => READ,
            };
            self.insert(span.end_offset, 0, format!(" {function}("));
            self.expression(others[index]);
            let to = starts.get(index + 1).copied().unwrap_or(end);
            self.insert(to, 0, ")".to_owned());
        }
    }

    fn iterated(&mut self, it: &ForLoop<'_>) {
        let leaf = leftmost(&it.iter);
        let from = self.tokens.iter().rposition(|(token, span)| {
            span.start_offset < leaf && matches!(token, Token::Ident("in"))
        });
        let to = match &it.filter_expr {
            Some(filter) => self.tokens.iter().rposition(|(token, span)| {
                span.start_offset < leftmost(filter) && matches!(token, Token::Ident("if"))
            }),
            None => self.tokens.iter().position(|(token, span)| {
                span.start_offset > leaf && matches!(token, Token::BlockEnd)
            }),
        };
        if let (Some(from), Some(mut to)) = (from, to) {
            if it.recursive && it.filter_expr.is_none() {
                to -= 1;
            }
            let [start, end] = [
                self.tokens[from].1.end_offset,
                self.tokens[to].1.start_offset,
            ];
            self.insert(start, 0, format!(" {ITERATED}("));
            self.expression(&it.iter);
            let close = match plain(&it.body) {
                0..PLAIN => ")".to_owned(),
                bytes => format!(", {bytes})"),
            };
            self.insert(end, 0, close);
        }
    }

    /// A template's name, which may be a list of some that are tried.
    fn named(&mut self, name: &Expr<'_>) {
        if matches!(name, Expr::Const(_)) {
            return;
        }
        let leaf = leftmost(name);
        let from = self.tokens.iter().rposition(|(token, span)| {
            let keywords = ["include", "import", "from", "extends"];
            span.start_offset < leaf
                && matches!(token, Token::Ident(word) if keywords.contains(word))
        });
        let mut depth = 0;
        let to = from.and_then(|from| {
            let after = self.tokens.iter().enumerate().skip(from + 1);
            let mut after = after.filter(|(_, (token, _))| {
                depth += nesting(token);
                depth == 0
            });
            after.find(|(_, (token, _))| match token {
                Token::BlockEnd => true,
                Token::Ident(word) => ["ignore", "with", "without", "as", "import"].contains(word),
                _ => false,
            })
        });
        match (from, to) {
            (Some(from), Some((_, (_, to)))) => {
                let (start, end) = (self.tokens[from].1.end_offset, to.start_offset);
                self.insert(start, 0, format!(" {NAMED}("));
                self.expression(name);
                self.insert(end, 0, ")".to_owned());
            }
            _ => self.expression(name),
        }
    }

    fn item(&mut self, of: &Expr<'_>, key: &Expr<'_>, span: Span) {
        if let Expr::Const(key) = key
            && (key.value.as_str().is_some()
                || u64::try_from(key.value.clone()).is_ok_and(|index| index <= SMALL))
        {
            return self.expression(of);
        }
        let open = self.subscript(span);
        let start = self.start(of, open.start_offset);
        self.insert(start, 0, format!("{ITERATED}("));
        self.expression(of);
        self.insert(open.start_offset, 0, ")".to_owned());
        if matches!(key, Expr::Const(_)) {
            return;
        }
        self.insert(open.end_offset, 0, format!("{READ}("));
        self.expression(key);
        self.insert(span.end_offset - 1, 0, ")".to_owned());
    }

    fn insert(&mut self, offset: u32, cut: usize, text: String) {
        let offset = offset as usize;
        self.edits.push(Edit { offset, cut, text });
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
                "{{ [__add(a , b), {__concat(c , d): __iterated(e)[__read(__multiply(f , g))]}] }}",
            ),
            (
                "{{ a ~ b if c + d else f(*e, g=h ~ i) }}",
                "{{ __concat(a , b) if __add(c , d) else __captured(f(*__read(e), g=__concat(h , i))) }}",
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

    const NAMED_READS: &[(&str, &str)] = &[
        ("{{ a == b }}", "{{ a == __read( b) }}"),
        (
            "{{ (a) == (b ~ c) }}",
            "{{ (a) == __read( (__concat(b , c))) }}",
        ),
        (
            "{{ a == [] and {} < -b }}",
            "{{ a == __read( []) and {} < __read( -b) }}",
        ),
        ("{{ a in b }}", "{{ __read(a )in __searched( b) }}"),
        (
            "{{ (a + b).c not in d | e }}",
            "{{ __read((__add(a , b)).c )not in __searched( d | e) }}",
        ),
        (
            "{{ 0 < a <= b not in c }}",
            "{{ 0 < __read( a )<= __read( b )not in __searched( c) }}",
        ),
        ("{{ a is in b == c }}", "{{ a is in b == __read( c) }}"),
        ("{{ a[1:] }}", "{{ __list(__sliced(a)[1:]) }}"),
        (
            "{{ (a.b)[::-1][c:d] }}",
            "{{ __list(__sliced(__list(__sliced((a.b))[::-1]))[c:d]) }}",
        ),
        ("{{ [1, a][b] }}", "{{ __iterated([1, a])[__read(b)] }}"),
        (
            "{{ a.b['c'][0][d.e] }}",
            "{{ __iterated(a.b['c'][0])[__read(d.e)] }}",
        ),
        ("{{ a.9999 }}{{ a.5 }}", "{{ __iterated(a).9999 }}{{ a.5 }}"),
        ("{{ f(*a) }}", "{{ f(*__read(a)) }}"),
        (
            "{{ a | f(b * c, *(d), e=1, **g.h) is i(*j) }}",
            "{{ a | f(__multiply(b , c), *__read((d)), e=1, **__read(g.h)) is i(*__read(j)) }}",
        ),
        (
            "{{ loop.changed(a, (b)) }}{{ loop(c) }}",
            "{{ loop.changed(__read(a),__read( (b))) }}{{ loop(__read(c)) }}",
        ),
        (
            "{% for a in b %}{% endfor %}{% for a in (b if c else d) if e recursive %}{% endfor %}",
            "{% for a in __iterated( b )%}{% endfor %}\
                 {% for a in __iterated( (b if c else d) )if e recursive %}{% endfor %}",
        ),
        (
            "{% for a in b | f recursive -%}{% endfor %}",
            "{% for a in __iterated( b | f )recursive -%}{% endfor %}",
        ),
        (
            "{% for a in b in c %}{% endfor %}",
            "{% for a in __iterated( __read(b )in __searched( c) )%}{% endfor %}",
        ),
        (
            "{% include a ignore missing %}{% import (b) as c %}{% from d import e %}{% extends f %}",
            "{% include __named( a )ignore missing %}{% import __named( (b) )as c %}\
                 {% from __named( d )import e %}{% extends __named( f )%}",
        ),
        ("{% do f(*a) %}", "{% do f(*__read(a)) %}"),
        (
            "{% call f(*a) %}{% endcall %}",
            "{% call f(*__read(a)) %}{% endcall %}",
        ),
        (
            "{% filter f(*a) %}{% endfilter %}",
            "{% filter __captured | f(*__read(a)) %}{% endfilter %}",
        ),
        (
            "{% filter f | g(x) %}{% endfilter %}",
            "{% filter __captured | f | g(x) %}{% endfilter %}",
        ),
        (
            "{% set a %}{% endset %}{% set n.a | f %}{% endset %}",
            "{% set a | __captured %}{% endset %}{% set n.a | __captured | f %}{% endset %}",
        ),
        (
            "{{ f(g()) }}{{ (f(1)).h() ~ m.f() | g }}",
            "{{ f(__captured(g())) }}\
             {{ __concat(__captured((__captured(f(1))).h()) , __captured(m.f()) | g) }}",
        ),
    ];

    #[test]
    fn what_is_read_is_named() {
        for (text, expected) in NAMED_READS {
            assert_eq!(calls(text).replace("  ", " "), *expected, "{text}");
        }
    }

    #[test]
    fn plain_text_of_a_loop_is_counted_where_there_is_much() {
        let plain = "p".repeat(PLAIN);
        let text = format!(
            "{{% for a in b %}}{{% if c %}}{plain}{{% else %}}{{{{ d }}}}{{% endif %}}\
             {{% for e in f if g %}}p{{% for h in i %}}{plain}p{{% endfor %}}{{% endfor %}}{{% endfor %}}"
        );
        let called = calls(&text).replace("  ", " ");
        for expected in [
            "{% for a in __iterated( b , 256)%}",
            "{% for e in __iterated( f )if g %}",
            "{% for h in __iterated( i , 257)%}",
        ] {
            assert!(called.contains(expected), "{called}");
        }
    }

    #[test]
    fn what_it_calls_is_no_name_of_a_template() {
        for text in [
            "{% macro __read(x) %}{{ x }}{% endmacro %}",
            "{% set __concat = 1 %}",
        ] {
            let error = as_calls(text, &SyntaxConfig::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SyntaxError, "{text}");
        }
    }

    #[test]
    fn what_has_none_stays_as_it_is() {
        let text = "a ~ b\n{# c ~ d #}{% raw %}{{ e ~ f }}{% endraw %}{{ '~' - 1 }}\n";
        assert_eq!(calls(text), text);
    }
}
