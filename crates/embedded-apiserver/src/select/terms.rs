//! Parses field selectors: `metadata.name=a,spec.nodeName!=b`.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/>

/// A required or forbidden value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) path: String,
    pub(super) equal: bool,
    pub(super) value: String,
}

/// Parses a selector. Errors have the messages of the server.
pub(super) fn parse(selector: &str) -> Result<Vec<Term>, String> {
    let parts = split(selector);
    let terms = parts.into_iter().filter(|part| !part.is_empty());
    terms
        .map(|part| {
            let why = || format!("invalid selector: '{selector}'; can't understand '{part}'");
            let at = part.find(['=', '!']).ok_or_else(why)?;
            let (path, rest) = part.split_at(at);
            let (equal, value) = match rest {
                _ if rest.starts_with("!=") => (false, &rest[2..]),
                _ if rest.starts_with("==") => (true, &rest[2..]),
                _ if rest.starts_with('=') => (true, &rest[1..]),
                _ => return Err(why()),
            };
            Ok(Term {
                path: path.to_owned(),
                equal,
                value: unescaped(value)?,
            })
        })
        .collect()
}

/// Splits a text at commas without a backslash before them.
fn split(selector: &str) -> Vec<&str> {
    let mut escaped = false;
    selector
        .split(|c| {
            let ends = c == ',' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })
        .collect()
}

fn unescaped(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                other => {
                    let rest: String = other.into_iter().collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{rest}"
                    ));
                }
            },
            ',' | '=' => {
                let code = u32::from(c);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {code}"
                ));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read() {
        let terms = parse(r"metadata.name=a\,b,,spec.x!=c").unwrap();
        assert_eq!((&*terms[0].value, terms[0].equal), ("a,b", true));
        assert_eq!((&*terms[1].path, terms[1].equal), ("spec.x", false));
        assert_eq!(parse("=a").unwrap()[0].path, "");
        assert!(parse("a=b=c").is_err());
        let why = "invalid selector: 'a'; can't understand 'a'";
        assert_eq!(parse("a").unwrap_err(), why);
    }
}
