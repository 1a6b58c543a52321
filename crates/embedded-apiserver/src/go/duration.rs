//! Durations in the format of Go: `1h30m`, `1.5s`.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Parses a duration like `time.ParseDuration`. Returns `None` for other texts and for negative durations.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut seconds = 0.0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[..end])?;
        seconds += number * unit;
        rest = &rest[end..];
        if rest.is_empty() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, millis) in [
            ("0", 0),
            ("1h30m", 5_400_000),
            ("1.5s", 1500),
            ("+2m0.5s", 120_500),
        ] {
            assert_eq!(
                parse_duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "-1s", "1", "1x", "s", "1h-2m", "..5s", "1 h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
