//! Formats ages like `kubectl get`: `5s`, `3m20s`, `2d4h`.

use jiff::Timestamp;
use serde_json::Value;

/// Returns the age of an object.
pub(super) fn format_age(object: &Value, now: Timestamp) -> String {
    since(&object["metadata"]["creationTimestamp"], now)
}

/// Returns the time since a timestamp, or `<unknown>` if there is none.
pub(super) fn since(timestamp: &Value, now: Timestamp) -> String {
    let parsed = timestamp
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok());
    match parsed {
        Some(then) => human(now.as_second() - then.as_second()),
        None => "<unknown>".to_owned(),
    }
}

/// Formats a duration in seconds with at most two units. Longer durations are less precise.
pub(super) fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |major: i64, unit: &str, minor: i64, sub: &str| {
        if minor == 0 {
            format!("{major}{unit}")
        } else {
            format!("{major}{unit}{minor}{sub}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s / MINUTE % 60, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s / HOUR % 24, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s / DAY % 365, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_get_coarser_with_time() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (3600, "60m"),
            (4 * 3600 + 60, "4h1m"),
            (30 * 3600, "30h"),
            (3 * 86400 + 3600, "3d1h"),
            (100 * 86400, "100d"),
            (3 * 365 * 86400, "3y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
