//! Where what the tree says is in the text: spans of the tree do not begin where an expression does.

use minijinja::machinery::ast::{Expr, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, Token};

use super::Rewriting;

impl Rewriting<'_> {
    /// The operator before the right side of a comparison.
    pub(super) fn comparing(&self, right: &Expr<'_>) -> usize {
        let before = leftmost(right);
        let is = |token: &Token<'_>| {
            matches!(
                token,
                Token::Eq
                    | Token::Ne
                    | Token::Lt
                    | Token::Lte
                    | Token::Gt
                    | Token::Gte
                    | Token::Ident("in")
            )
        };
        let found = self
            .tokens
            .iter()
            .rposition(|(token, span)| span.start_offset < before && is(token));
        found.unwrap_or_default()
    }

    /// Where a subscript begins that ends with a span: at a bracket, or at the dot of `text.5`.
    pub(super) fn subscript(&self, span: Span) -> Span {
        let last = self.ending(span);
        let open = match self.tokens[last].0 {
            Token::BracketClose => self.opening(last),
            _ => last.saturating_sub(1),
        };
        self.tokens[open].1
    }

    /// The last token of a span.
    pub(super) fn ending(&self, span: Span) -> usize {
        let found = self
            .tokens
            .iter()
            .rposition(|(_, it)| it.end_offset <= span.end_offset);
        found.unwrap_or_default()
    }

    /// The bracket that one closes.
    pub(super) fn opening(&self, close: usize) -> usize {
        let mut depth = 0;
        let found = self.tokens[..=close].iter().rposition(|(token, _)| {
            depth -= nesting(token);
            depth == 0
        });
        found.unwrap_or_default()
    }

    /// Where an expression begins that ends before an offset, with the brackets that are around it.
    pub(super) fn start(&self, expression: &Expr<'_>, end: u32) -> u32 {
        let leaf = leftmost(expression);
        let mut start = leaf;
        let mut depth = 0;
        let within = |span: &Span| span.start_offset >= leaf && span.start_offset < end;
        for (at, (token, _)) in self
            .tokens
            .iter()
            .enumerate()
            .filter(|(_, it)| within(&it.1))
        {
            depth += nesting(token);
            if depth < 0 {
                start = self.tokens[self.opening(at)].1.start_offset;
                depth = 0;
            }
        }
        start
    }

    /// From where to where the arguments are in the parentheses that a span ends with.
    pub(super) fn ranges(&self, span: Span) -> Vec<(u32, u32)> {
        let close = self.ending(span);
        if !matches!(self.tokens[close].0, Token::ParenClose) {
            return Vec::new();
        }
        let open = self.opening(close);
        let mut ranges = Vec::new();
        let mut start = self.tokens[open].1.end_offset;
        let mut depth = 0;
        for (at, (token, span)) in self
            .tokens
            .iter()
            .enumerate()
            .take(close + 1)
            .skip(open + 1)
        {
            let first = span.start_offset == start || self.tokens[at - 1].1.end_offset == start;
            match token {
                Token::Mul | Token::Pow if depth == 0 && first => start = span.end_offset,
                Token::Assign if depth == 0 => start = span.end_offset,
                Token::Comma if depth == 0 => {
                    ranges.push((start, span.start_offset));
                    start = span.end_offset;
                }
                _ if at == close => ranges.push((start, span.start_offset)),
                _ => depth += nesting(token),
            }
        }
        ranges
    }

    /// Where the operator of an operation is: operators of one kind are grouped from the left, so that
    /// the last one outside of brackets is it.
    pub(super) fn operator(&self, of: Span, is: fn(&Token<'_>) -> bool) -> Option<Span> {
        let mut depth = 0;
        let mut found = None;
        let within =
            |span: &Span| span.start_offset >= of.start_offset && span.end_offset <= of.end_offset;
        for (token, span) in self.tokens.iter().filter(|(_, span)| within(span)) {
            match nesting(token) {
                0 if depth == 0 && is(token) => found = Some(*span),
                nesting => depth += nesting,
            }
        }
        found
    }
}

/// By how many brackets what follows a token is deeper.
pub(super) fn nesting(token: &Token<'_>) -> i32 {
    match token {
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => 1,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => -1,
        _ => 0,
    }
}

/// Where the first name or constant of an expression is: spans of larger ones do not begin there.
pub(super) fn leftmost(expression: &Expr<'_>) -> u32 {
    match expression {
        Expr::Slice(it) => leftmost(&it.expr),
        Expr::UnaryOp(it) => match it.op {
            UnaryOpKind::Neg => it.span().start_offset,
            UnaryOpKind::Not => leftmost(&it.expr),
        },
        Expr::BinOp(it) => leftmost(&it.left),
        Expr::Compare(it) => leftmost(&it.expr),
        Expr::IfExpr(it) => leftmost(&it.true_expr),
        Expr::Filter(it) => it
            .expr
            .as_ref()
            .map_or_else(|| it.span().start_offset, leftmost),
        Expr::Test(it) => leftmost(&it.expr),
        Expr::GetAttr(it) => leftmost(&it.expr),
        Expr::GetItem(it) => leftmost(&it.expr),
        Expr::Call(it) => leftmost(&it.expr),
        Expr::List(it) => it
            .items
            .first()
            .map_or_else(|| it.span().start_offset, leftmost),
        Expr::Tuple(it) => it
            .items
            .first()
            .map_or_else(|| it.span().start_offset, leftmost),
        Expr::Map(it) => it
            .keys
            .first()
            .map_or_else(|| it.span().start_offset, leftmost),
        Expr::Var(_) | Expr::Const(_) => expression.span().start_offset,
    }
}

/// Bytes of plain text that a round of a loop writes, those of loops within left out.
pub(super) fn plain(body: &[Stmt<'_>]) -> usize {
    let of = |statement: &Stmt<'_>| match statement {
        Stmt::EmitRaw(it) => it.raw.len(),
        Stmt::IfCond(it) => plain(&it.true_body).max(plain(&it.false_body)),
        Stmt::WithBlock(it) => plain(&it.body),
        Stmt::SetBlock(it) => plain(&it.body),
        Stmt::AutoEscape(it) => plain(&it.body),
        Stmt::FilterBlock(it) => plain(&it.body),
        Stmt::Block(it) => plain(&it.body),
        _ => 0,
    };
    body.iter().map(of).sum()
}
