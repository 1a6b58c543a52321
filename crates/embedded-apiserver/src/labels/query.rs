//! Parses label selectors of queries.
//!
//! This is a separate parser, because its errors have the messages of apimachinery.

use std::collections::BTreeSet;

use super::selector::{LabelSelector, Operator, Requirement};
use crate::error::FieldError;
use crate::names;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Word,
    In,
    NotIn,
    Equals,
    NotEquals,
    Greater,
    Less,
    Not,
    Comma,
    Open,
    Close,
    End,
    Error,
}

const SYMBOLS: [(&str, Token); 9] = [
    ("(", Token::Open),
    (")", Token::Close),
    (",", Token::Comma),
    ("!", Token::Not),
    ("==", Token::Equals),
    ("=", Token::Equals),
    (">", Token::Greater),
    ("<", Token::Less),
    ("!=", Token::NotEquals),
];

/// Parses a selector. Errors have the messages of the server.
pub(crate) fn parse(text: &str) -> Result<LabelSelector, String> {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
    };
    parser.requirements().map(LabelSelector::new)
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn tokens(text: &str) -> Vec<(Token, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let end = if is_symbol(c) {
            let (token, length) = symbol(rest);
            found.push((token, rest[..length].to_owned()));
            length
        } else {
            let ends = |c: char| is_symbol(c) || c.is_whitespace();
            let length = rest.find(ends).unwrap_or(rest.len());
            let word = &rest[..length];
            let token = match word {
                "in" => Token::In,
                "notin" => Token::NotIn,
                _ => Token::Word,
            };
            found.push((token, word.to_owned()));
            length
        };
        rest = rest[end..].trim_start();
    }
    found
}

/// Returns the longest symbol at the beginning of a text.
fn symbol(text: &str) -> (Token, usize) {
    let fits = SYMBOLS
        .iter()
        .filter(|(symbol, _)| text.starts_with(symbol));
    fits.max_by_key(|(symbol, _)| symbol.len())
        .map_or((Token::Error, 1), |(symbol, token)| (*token, symbol.len()))
}

struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

impl Parser {
    /// Returns the next token where an operator is allowed.
    fn operator(&mut self) -> (Token, String) {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token.unwrap_or((Token::End, String::new()))
    }

    /// Returns the next token where values are allowed: there, `in` is a word.
    fn next(&mut self) -> (Token, String) {
        match self.operator() {
            (Token::In | Token::NotIn, word) => (Token::Word, word),
            other => other,
        }
    }

    fn peek(&mut self) -> (Token, String) {
        let next = self.next();
        self.at -= 1;
        next
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                (Token::Word | Token::Not, _) => {
                    let one = self.requirement();
                    all.push(one.map_err(|why| format!("unable to parse requirement: {why}"))?);
                    match self.next() {
                        (Token::End, _) => return Ok(all),
                        (Token::Comma, _) => {
                            let (token, found) = self.peek();
                            if !matches!(token, Token::Word | Token::Not) {
                                return Err(format!(
                                    "found '{found}', expected: identifier after ','"
                                ));
                            }
                        }
                        (_, found) => {
                            return Err(format!(
                                "found '{found}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                (Token::End, _) => return Ok(all),
                (_, found) => {
                    return Err(format!(
                        "found '{found}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let absent = token == Token::Not;
        if absent {
            (token, key) = self.next();
        }
        if token != Token::Word {
            return Err(format!("found '{key}', expected: identifier"));
        }
        check_key(&key)?;
        let ends = matches!(self.peek().0, Token::End | Token::Comma);
        if absent || ends {
            let operator = if absent {
                Operator::DoesNotExist
            } else {
                Operator::Exists
            };
            return Ok(Requirement {
                key,
                operator,
                values: Vec::new(),
            });
        }
        let (operator, values) = match self.operator() {
            (Token::In, _) => (Operator::In, self.values()?),
            (Token::NotIn, _) => (Operator::NotIn, self.values()?),
            (Token::Equals, _) => (Operator::In, self.value()?),
            (Token::NotEquals, _) => (Operator::NotIn, self.value()?),
            (Token::Greater, _) => (Operator::GreaterThan, self.value()?),
            (Token::Less, _) => (Operator::LessThan, self.value()?),
            (_, found) => {
                return Err(format!(
                    "found '{found}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        check_values(&key, operator, &values)?;
        Ok(Requirement {
            key,
            operator,
            values: values.into_iter().collect(),
        })
    }

    fn value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Word, word) => Ok(BTreeSet::from([word])),
            (_, found) => Err(format!("found '{found}', expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, found) = self.next();
        if token != Token::Open {
            return Err(format!("found '{found}' expected: '('"));
        }
        match self.peek() {
            (Token::Word | Token::Comma, found) => {
                let words = self.words()?;
                match self.next() {
                    (Token::Close, _) => Ok(words),
                    _ => Err(format!("found '{found}', expected: ')'")),
                }
            }
            (Token::Close, _) => {
                self.next();
                // `in ()` selects the empty value.
                Ok(BTreeSet::from([String::new()]))
            }
            (_, found) => Err(format!("found '{found}', expected: ',', ')' or identifier")),
        }
    }

    fn words(&mut self) -> Result<BTreeSet<String>, String> {
        let mut words = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Word, word) => {
                    words.insert(word);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(words),
                        (_, found) => return Err(format!("found '{found}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if words.is_empty() {
                        words.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            words.insert(String::new());
                            return Ok(words);
                        }
                        Token::Comma => {
                            self.next();
                            words.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, found) => return Err(format!("found '{found}', expected: ',', or identifier")),
            }
        }
    }
}

pub(super) fn check_key(key: &str) -> Result<(), String> {
    match names::qualified(key).first() {
        None => Ok(()),
        Some(why) => Err(FieldError::invalid("<nil>", key, why.as_str()).to_string()),
    }
}

pub(super) fn check_values(
    key: &str,
    operator: Operator,
    values: &BTreeSet<String>,
) -> Result<(), String> {
    let set = matches!(operator, Operator::In | Operator::NotIn);
    if set && values.is_empty() {
        let text = "for 'in', 'notin' operators, values set can't be empty";
        return Err(FieldError::invalid("values", Vec::<String>::new(), text).to_string());
    }
    for (index, value) in values.iter().enumerate() {
        if !set && value.parse::<i64>().is_err() {
            let text = "for 'Gt', 'Lt' operators, the value must be an integer";
            let path = format!("values[{index}]");
            return Err(FieldError::invalid(path, value.as_str(), text).to_string());
        }
        if let Some(why) = names::label_value(value).first() {
            let path = format!("values[{index}][{key}]");
            return Err(FieldError::invalid(path, value.as_str(), why.as_str()).to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read() {
        for (text, read) in [
            ("", ""),
            (
                "a=b,c!=d, e in (f,g) ,!h,i,j>5",
                "a=b,c notin (d),e in (f,g),!h,i,j>5",
            ),
            ("a=", "a="),
            ("in in (in)", "in=in"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), read, "{text}");
        }
    }

    #[test]
    fn refusals_have_the_servers_words() {
        for (text, why) in [
            (
                "a in (",
                "unable to parse requirement: found '', expected: ',', ')' or identifier",
            ),
            (
                "=",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("a=b,", "found '', expected: identifier after ','"),
            (
                "-a",
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), why, "{text}");
        }
    }
}
