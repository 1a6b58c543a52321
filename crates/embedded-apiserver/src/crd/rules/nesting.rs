//! Limits the depth of an expression's tree before it is parsed.
//!
//! The parser limits nested expressions but not chains (`1 + 1 + …`, `a.b.c…`). Each link of a chain is a
//! level of the tree. The parser, the checker and the interpreter descend the tree recursively, so a long
//! chain would overflow the stack and end the process.

/// The maximum number of links of all chains that enclose each other. cel-go has this limit for chains of one
/// kind.
const MAX_LINKS: usize = 250;
/// The maximum number of characters of an expression, like in cel-go.
const MAX_LENGTH: usize = 100_000;

/// The number of links in the chains within one pair of brackets.
#[derive(Default)]
struct Frame {
    relations: usize,
    terms: usize,
    members: usize,
}

impl Frame {
    fn links(&self) -> usize {
        self.relations + self.terms + self.members
    }
}

/// Refuses an expression that is too long or whose tree is too deep, with the messages of cel-go.
pub(super) fn check(source: &str) -> Result<(), String> {
    let length = source.chars().count();
    if length > MAX_LENGTH {
        return Err(format!(
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: {length}, limit {MAX_LENGTH}"
        ));
    }
    if links(source) > MAX_LINKS {
        return Err("ERROR: <input>:-1:0: max recursion depth exceeded".to_owned());
    }
    Ok(())
}

/// Returns the maximum number of links of chains that enclose each other.
fn links(source: &str) -> usize {
    let mut frames = vec![Frame::default()];
    let mut most = 0;
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let taken = text_length(rest).unwrap_or_else(|| next.len_utf8());
        let (token, after) = rest.split_at(taken);
        count(&mut frames, token, after);
        most = most.max(frames.iter().map(Frame::links).sum());
        rest = after;
    }
    most
}

fn count(frames: &mut Vec<Frame>, token: &str, after: &str) {
    if matches!(token, ")" | "]" | "}") && frames.len() > 1 {
        frames.pop();
        return;
    }
    let Some(frame) = frames.last_mut() else {
        return;
    };
    match token {
        "(" | "[" | "{" => {
            // An index or a call is also a link.
            frame.members += 1;
            frames.push(Frame::default());
        }
        "." => frame.members += 1,
        "+" | "-" | "*" | "/" | "%" => {
            frame.terms += 1;
            frame.members = 0;
        }
        "<" | ">" | "=" | "!" if after.starts_with('=') => relate(frame),
        "<" | ">" | " in " => relate(frame),
        "," | "?" | ":" | "&" | "|" => *frame = Frame::default(),
        _ => {}
    }
}

fn relate(frame: &mut Frame) {
    frame.relations += 1;
    frame.terms = 0;
    frame.members = 0;
}

/// Returns the length in bytes of a string, a comment or the word `in` at the beginning of the text.
fn text_length(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with(" in ") {
        return Some(" in ".len());
    }
    let (raw, quoted) = match rest.strip_prefix(['r', 'R']) {
        Some(quoted) => (true, quoted),
        None => (false, rest),
    };
    let quote = ["\"\"\"", "'''", "\"", "'"];
    let quote = quote.into_iter().find(|quote| quoted.starts_with(quote))?;
    let start = rest.len() - quoted.len() + quote.len();
    let mut at = start;
    while at < rest.len() && !rest[at..].starts_with(quote) {
        let escapes = !raw && rest[at..].starts_with('\\');
        let mut skipped = rest[at..].chars().take(if escapes { 2 } else { 1 });
        at += skipped.by_ref().map(char::len_utf8).sum::<usize>();
    }
    Some((at + quote.len()).min(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_chains_that_enclose_each_other_add_up() {
        for (source, expected) in [
            ("self", 0),
            ("self.a.b", 2),
            ("1 + 2 - 3", 2),
            ("self.a.b + self.c", 2),
            ("self.a == self.b && self.c == self.d", 2),
            ("self.all(x, x.a.b > 1)", 4),
            ("self[0][1]", 2),
            ("(1 + (2 + 3))", 4),
            ("'1 + 2 + 3' + r\"\\\" + \"a\\\"+\" // 1 + 2 + 3", 2),
            ("1 in [1] ? 2 : 3", 2),
            ("'''it's + + +'''", 0),
            ("'unclosed \\", 0),
            (")]}", 0),
        ] {
            assert_eq!(links(source), expected, "{source}");
        }
    }
}
