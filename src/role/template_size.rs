//! Bounds how long one expression of a template may be.
//!
//! The template engine parses a chain such as `a.b.c…` in a loop and then compiles, walks and drops it
//! level by level, each on the stack. A chain of some thousands would end the process.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// The most tokens between `{{` and `}}`, or `{%` and `%}`. A chain of as many takes less than 1 MB of
/// stack without optimizations; a list of 900 items has as many.
pub(super) const MAX_TOKENS: usize = 2_000;

/// Returns where the first expression begins that is too long.
pub(super) fn too_long(text: &str, syntax: &SyntaxConfig) -> Option<usize> {
    let mut start = 0;
    let mut count = 0;
    // What cannot be tokenized is the parser's to report.
    for (token, span) in tokenize(text, false, syntax.clone()).map_while(Result::ok) {
        match token {
            Token::VariableStart | Token::BlockStart => {
                start = span.start_offset as usize;
                count = 0;
            }
            Token::TemplateData(_) | Token::VariableEnd | Token::BlockEnd => count = 0,
            _ => count += 1,
        }
        if count > MAX_TOKENS {
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_expression_is_found_where_it_begins() {
        let syntax = SyntaxConfig::default();
        let chain = |links: usize| format!("a: 1\nb: {{{{ a{} }}}}\n", ".b".repeat(links));
        assert_eq!(too_long(&chain(900), &syntax), None);
        assert_eq!(too_long(&chain(1_000), &syntax), Some(8));
        let many = "{{ a.b }}\n".repeat(2_000);
        assert_eq!(too_long(&many, &syntax), None);
    }
}
