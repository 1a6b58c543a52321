//! Parses JSONPath queries (RFC 9535) in bounded time.

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;

/// The maximum length of a query, in bytes.
const MAX_LENGTH: usize = 16 << 10;
/// The maximum depth of brackets: the parser takes three times as long for each function within
/// another, twice as long for each filter. `$[?count(@.a[?(@.b)]) > 1]` has four.
const MAX_DEPTH: usize = 10;

/// The reason that a text is not a query. It displays as the continuation of `invalid JSONPath TEXT:`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// It has a syntax error.
    #[error("unexpected {rest:?}")]
    Syntax {
        /// The index of the character of the error, from 0.
        index: usize,
        /// The text from there on.
        rest: String,
    },
    /// It is too long.
    #[error("longer than {} KiB", MAX_LENGTH >> 10)]
    Long,
    /// It is nested too deeply.
    #[error("brackets nested more than {MAX_DEPTH} deep")]
    Deep,
}

impl Error {
    /// Returns the index of the character of the error, from 0.
    pub(crate) fn index(&self) -> usize {
        match self {
            Self::Syntax { index, .. } => *index,
            Self::Long | Self::Deep => 0,
        }
    }
}

/// Parses a query in bounded time. The bounds are necessary because the parser cannot be interrupted.
///
/// # Errors
/// The text is not JSONPath, has more than 16 KiB, or nests brackets more than ten deep.
pub(crate) fn parse(text: &str) -> Result<JpQuery, Error> {
    if text.len() > MAX_LENGTH {
        return Err(Error::Long);
    }
    if depth(text) > MAX_DEPTH {
        return Err(Error::Deep);
    }
    parse_json_path(text).map_err(|error| {
        let index = index_of(&error.to_string());
        let rest = text.chars().skip(index).collect();
        Error::Syntax { index, rest }
    })
}

/// Returns the index of the character in the parser's message.
fn index_of(error: &str) -> usize {
    let mut lines = error.lines();
    let column = lines.find_map(|line| line.split_once("--> 1:")?.1.trim().parse::<usize>().ok());
    column.map_or(0, |column| column - 1)
}

/// Returns the nesting depth of brackets, except in strings.
fn depth(query: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut quote = None;
    let mut characters = query.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(quoted), _) if quoted == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[') => {
                open += 1;
                deepest = deepest.max(open);
            }
            (None, ')' | ']') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_counted_where_they_are_brackets() {
        for (query, expected) in [
            ("$.a.b", 0),
            ("$['a'][0][?(@.b)]", 2),
            ("$[?count(@.a[?(@.b)]) > 1]", 4),
            (r#"$['((\'(']["[[\"["][?@ == '(']"#, 1),
        ] {
            assert_eq!(depth(query), expected, "{query}");
            assert!(parse(query).is_ok(), "{query}");
        }
    }

    #[test]
    fn queries_that_parse_slowly_are_refused() {
        let within = |inner: &str, times, open: &str, close: &str| {
            format!("$[?{}{inner}{}]", open.repeat(times), close.repeat(times))
        };
        for query in [
            within("@ == 1", 40, "length(", ")"),
            within("@.a", 40, "count(@[?", "])"),
            within("@.a", 40, "!(", ")"),
        ] {
            assert_eq!(parse(&query), Err(Error::Deep), "{query}");
        }
        let long = format!("$[{}]", vec!["0"; MAX_LENGTH].join(","));
        assert_eq!(parse(&long), Err(Error::Long));
    }
}
