//! Splits a script into its functions, which must be at the top level, and the rest, which becomes a block.

/// Returns the functions of a script, and the rest of it.
pub(super) fn split_functions(text: &str) -> (Vec<String>, String) {
    let mut functions = Vec::new();
    let mut rest = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !is_function(line) {
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        let mut function = format!("{line}\n");
        while !is_closed(&function) {
            let Some(line) = lines.next() else { break };
            function.push_str(line);
            function.push('\n');
        }
        functions.push(function);
    }
    (functions, rest.trim().to_owned())
}

/// The words that begin a statement that is not a value.
const STATEMENTS: [&str; 10] = [
    "throw", "let", "const", "while", "loop", "for", "do", "try", "import", "break",
];

/// Returns whether a script is more than one expression.
pub(super) fn is_statement(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let first = first.into_iter().next().unwrap_or_default();
    text.contains([';', '\n']) || text.starts_with("//") || STATEMENTS.contains(&first)
}

fn is_function(line: &str) -> bool {
    line.starts_with("fn ") || line.starts_with("private fn ")
}

/// Returns whether all braces of a function are closed. Braces in strings count too: they usually come in
/// pairs.
fn is_closed(function: &str) -> bool {
    let count = |brace| function.matches(brace).count();
    count('{') > 0 && count('{') <= count('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_split_off() {
        let text = "let a = 1;\nfn f(x) {\n    if x { 1 } else { 2 }\n}\nf(a)\nfn g() { 3 }\n";
        let (functions, rest) = split_functions(text);
        assert_eq!(
            functions,
            [
                "fn f(x) {\n    if x { 1 } else { 2 }\n}\n",
                "fn g() { 3 }\n"
            ]
        );
        assert_eq!(rest, "let a = 1;\nf(a)");
    }
}
