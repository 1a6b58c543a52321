//! Positions and hints for common mistakes in the syntax of scripts.

use rhai::{LexError, ParseErrorType, Position};

/// Returns the position to report for a syntax error, and a hint if the mistake is known.
pub(super) fn improve(
    error: &ParseErrorType,
    text: &str,
    position: Position,
) -> (Position, Option<String>) {
    let hint = |hint: &str| Some(hint.to_owned());
    match error {
        ParseErrorType::BadInput(LexError::MalformedChar(_)) => (
            position,
            hint("write text in double quotes; single quotes are for one character"),
        ),
        ParseErrorType::MissingToken(token, _) if token == ";" => {
            if text_at(text, position).is_some_and(|rest| rest.starts_with(':')) {
                (position, hint("write a map as #{key: value}"))
            } else {
                let end = end_of_previous_token(text, position);
                (end.unwrap_or(position), hint("end the statement with ;"))
            }
        }
        _ => (position, None),
    }
}

/// Returns the text from a position to the end of its line.
fn text_at(text: &str, position: Position) -> Option<&str> {
    let line = text.lines().nth(position.line()?.checked_sub(1)?)?;
    let column = position.position()?.checked_sub(1)?;
    let (start, _) = line.char_indices().nth(column)?;
    line.get(start..)
}

/// Returns the position after the last token before a position. Skips lines that are comments.
fn end_of_previous_token(text: &str, position: Position) -> Option<Position> {
    let (line, column) = (position.line()?, position.position()?);
    let before: String = text
        .lines()
        .nth(line.checked_sub(1)?)?
        .chars()
        .take(column.checked_sub(1)?)
        .collect();
    let above = text.lines().take(line - 1).collect::<Vec<_>>();
    let mut candidates = std::iter::once(before.as_str())
        .chain(above.into_iter().rev())
        .enumerate();
    let (distance, code) = candidates.find(|(_, code)| {
        let code = code.trim_start();
        !code.is_empty() && !code.starts_with("//")
    })?;
    let column = code.trim_end().chars().count() + 1;
    Some(Position::new(
        u16::try_from(line - distance).ok()?,
        u16::try_from(column).ok()?,
    ))
}
