//! Durations in Go's syntax: `1m30s`, `1.5h`, `100ms`.

use std::time::Duration;

/// The reason that a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// It is not in Go's syntax.
    #[error("expected a duration like 30s, 5m or 1h30m, found {0:?}")]
    Syntax(String),
    /// A number has no unit.
    #[error("the duration {0:?} has no unit, e.g. {0}s")]
    NoUnit(String),
    /// It is negative.
    #[error("the duration {0:?} is negative")]
    Negative(String),
    /// It is longer than Go's maximum duration, about 292 years.
    #[error("the duration {0:?} is too long")]
    TooLong(String),
}

/// The nanoseconds of each unit. If one name is a prefix of another, the longer name is first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses Go's syntax (`time.ParseDuration`). Refuses negative durations.
pub(crate) fn parse(text: &str) -> Result<Duration, Error> {
    let syntax = || Error::Syntax(text.to_owned());
    let too_long = || Error::TooLong(text.to_owned());
    if text
        .strip_prefix('-')
        .is_some_and(|rest| parse(rest).is_ok_and(|d| !d.is_zero()))
    {
        return Err(Error::Negative(text.to_owned()));
    }
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(syntax());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        if number.parse::<f64>().is_err() {
            return Err(syntax());
        }
        if tail.is_empty() {
            return Err(if number.len() == text.len() {
                Error::NoUnit(text.to_owned())
            } else {
                syntax()
            });
        }
        let (unit, nanos) = UNITS
            .into_iter()
            .find(|(unit, _)| unit_of(tail) == *unit)
            .ok_or_else(syntax)?;
        total = nanoseconds(number, nanos)
            .and_then(|part| total.checked_add(part))
            .filter(|total| i64::try_from(*total).is_ok())
            .ok_or_else(too_long)?;
        rest = &tail[unit.len()..];
    }
    Ok(Duration::from_nanos(total))
}

/// Returns the letters before the next number.
fn unit_of(text: &str) -> &str {
    let end = text
        .find(|c: char| c.is_ascii_digit() || c == '.')
        .unwrap_or(text.len());
    &text[..end]
}

/// Returns `number` units of `unit` nanoseconds. Drops fractions of a nanosecond, as Go does.
fn nanoseconds(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut nanos = whole.checked_mul(unit)?;
    let mut scale = unit;
    for digit in fraction.bytes() {
        scale /= 10;
        nanos = nanos.checked_add(u64::from(digit - b'0') * scale)?;
    }
    Some(nanos)
}

/// Formats a duration as Go's `Duration.String` does: `1h30m0s`, `1.5s`, `100ms`, `0s`.
pub(crate) fn format(duration: Duration) -> String {
    const MINUTE: u128 = 60_000_000_000;
    let nanos = duration.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => decimal(nanos, 1_000) + "µs",
        1_000_000..1_000_000_000 => decimal(nanos, 1_000_000) + "ms",
        _ => {
            let seconds = decimal(nanos % MINUTE, 1_000_000_000);
            let minutes = nanos / MINUTE;
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// Formats `nanos / unit` without trailing zeros; `unit` is a power of ten.
fn decimal(nanos: u128, unit: u128) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = format!("{rest:0width$}", width = unit.ilog10() as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_of_go_are_parsed() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("-0s", 0),
            ("30s", 30_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("100ms", 100_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("2µs", 2_000),
            ("+5m", 300_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn durations_that_go_refuses_are_refused() {
        for text in [
            "", "s", ".", ".s", "5x", "1h-3m", "1 s", "1.2.3s", "1d", "1h30", "+-1s", "ten",
        ] {
            assert_eq!(parse(text), Err(Error::Syntax(text.to_owned())), "{text}");
        }
        assert_eq!(parse("30"), Err(Error::NoUnit("30".to_owned())));
        assert_eq!(parse("-5s"), Err(Error::Negative("-5s".to_owned())));
        assert_eq!(
            parse("3000000h"),
            Err(Error::TooLong("3000000h".to_owned()))
        );
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanos, text) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "1m30s"),
            (36_000_000_000_000, "10h0m0s"),
            (3_600_000_000_001, "1h0m0.000000001s"),
        ] {
            assert_eq!(format(Duration::from_nanos(nanos)), text);
        }
    }

    proptest! {
        #[test]
        fn formatted_durations_parse_to_the_same_value(nanos in 0..i64::MAX.unsigned_abs()) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.hmsnuµ ]{0,12}") {
            let _ = parse(&text);
        }
    }
}
