//! Colors and times in the text of a report.

use std::time::Duration;

pub(super) const GREEN: &str = "\x1b[32m";

pub(super) const RED: &str = "\x1b[31m";

pub(super) const YELLOW: &str = "\x1b[33m";

pub(super) const DIM: &str = "\x1b[2m";

const RESET: &str = "\x1b[0m";

/// Formats a time in milliseconds.
pub(super) fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

/// Terminal colors, if they are enabled.
pub(super) struct Colors {
    pub(super) enabled: bool,
}

impl Colors {
    /// Returns the text in a color, or unchanged if colors are disabled.
    pub(super) fn paint(&self, color: &str, text: &str) -> String {
        if self.enabled && !color.is_empty() {
            format!("{color}{text}{RESET}")
        } else {
            text.to_owned()
        }
    }
}
