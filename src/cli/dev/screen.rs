//! Draws frames on a terminal. Each frame replaces the previous one and has the current size of the
//! terminal.

use std::io::{self, Write};

use terminal_size::{Height, Width, terminal_size};

/// The size to assume if the terminal does not report one.
const USUAL: Size = Size {
    columns: 80,
    rows: 24,
};
const HOME: &str = "\x1b[H";
/// Clears the line to the right of the cursor.
const REST_OF_LINE: &str = "\x1b[K";
/// Clears the screen below the cursor.
const BELOW: &str = "\x1b[J";

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// Returns the current size of the terminal.
    pub(super) fn of_terminal() -> Self {
        terminal_size().map_or(USUAL, |(Width(columns), Height(rows))| Self {
            columns: columns.into(),
            rows: rows.into(),
        })
    }
}

/// Draws a frame over the previous one. The `first` frame scrolls the content of the terminal up, so that
/// the user does not lose it.
pub(super) fn draw(
    out: &mut impl Write,
    lines: &[String],
    size: Size,
    first: bool,
) -> io::Result<()> {
    let mut text = String::new();
    if first {
        text += &"\n".repeat(size.rows);
    }
    text += HOME;
    // The last row stays free for the cursor.
    for line in lines.iter().take(size.rows.saturating_sub(1)) {
        text += &cut(line, size.columns);
        text += REST_OF_LINE;
        text.push('\n');
    }
    text += BELOW;
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Returns as many characters of a line as fit.
fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(columns.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A line in pieces that fit.
pub(super) fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    let pieces = characters.chunks(columns.max(1));
    pieces.map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_and_replaces_the_previous_one() {
        let size = Size {
            columns: 5,
            rows: 3,
        };
        let mut out = Vec::new();
        let lines = ["abcdef", "xyz", "no room"].map(str::to_owned);
        draw(&mut out, &lines, size, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\x1b[Habcd…\x1b[K\nxyz\x1b[K\n\x1b[J");
        let mut out = Vec::new();
        draw(&mut out, &lines[1..2], size, true).unwrap();
        assert!(out.starts_with(b"\n\n\n\x1b[Hxyz"));
    }

    #[test]
    fn a_long_line_is_wrapped() {
        assert_eq!(wrapped("abcdefg", 3), ["abc", "def", "g"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("äöü", 3), ["äöü"]);
    }
}
