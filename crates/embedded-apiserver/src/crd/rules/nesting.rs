//! Limits the depth of an expression's tree before it is parsed.
//!
//! The parser bounds nested expressions and takes chains of any length (`1 + 1 + …`, `a.b.c…`), each link
//! of which is a level of the tree. The parser, the checker and the interpreter descend it by recursion,
//! so that a long chain would end the process.

/// The most links of all chains that enclose each other, as of cel-go for chains of one sort.
const MAX_LINKS: usize = 250;
/// The most characters of an expression, as of cel-go.
const MAX_LENGTH: usize = 100_000;

/// The links of the chains within one pair of brackets.
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

/// Refuses an expression whose tree is too deep, or whose text is too long, in the words of cel-go.
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

/// The links of the longest chain of chains.
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
            // An index or a call is a link too.
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

/// The bytes of what begins here and is one token: a string, a comment, the word `in`.
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
