//! Formats errors: as one line, or with the source line, a caret and the call chain.

use std::fmt::{self, Write as _};

use super::{Error, Frame};

impl Frame {
    /// Returns the position in the form `web/tasks/main.rhai:12:5`.
    pub fn location(&self) -> String {
        let mut place = self.file.clone();
        for number in [self.line, self.column] {
            if number == 0 {
                break;
            }
            // Writing to a string cannot fail.
            let _ = write!(place, ":{number}");
        }
        place
    }
}

pub(super) fn error(error: &Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(innermost) = error.trace.first() {
        write!(f, "{}: ", innermost.location())?;
    }
    f.write_str(&error.message)?;
    if !f.alternate() {
        return Ok(());
    }
    if let Some(frame) = error.trace.first() {
        source(frame, f)?;
    }
    calls(&error.trace, f)?;
    match &error.hint {
        Some(hint) => write!(f, "\n  hint: {hint}"),
        None => Ok(()),
    }
}

/// Writes the source line, and a caret below the column.
fn source(frame: &Frame, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(line) = &frame.source else {
        return Ok(());
    };
    write!(f, "\n  {:>4} | {line}", frame.line)?;
    if frame.column > 0 {
        // Tabs stay tabs, so that the caret is below the column also where tabs are wide.
        let indent = line.chars().take(frame.column - 1);
        let indent: String = indent.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "\n       | {indent}^")?;
    }
    Ok(())
}

/// Writes the call chain, innermost first: `in f, called at main.rhai:3:1`. Repetitions are counted.
fn calls(trace: &[Frame], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut repeated = 0;
    let mut last = None;
    for pair in trace.windows(2) {
        let function = pair[0].function.as_deref().unwrap_or("a function");
        let call = format!("in {function}, called at {}", pair[1].location());
        if last.as_ref() == Some(&call) {
            repeated += 1;
            continue;
        }
        more(repeated, f)?;
        repeated = 0;
        write!(f, "\n  {call}")?;
        last = Some(call);
    }
    more(repeated, f)
}

fn more(repeated: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if repeated == 0 {
        Ok(())
    } else {
        write!(f, "\n  … {repeated} more of these")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        error(self, f)
    }
}
