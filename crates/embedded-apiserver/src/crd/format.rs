//! The formats of strings and numbers in schemas.
//!
//! Formats that the server does not know are not checked.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use regex::Regex;

/// A format that the server checks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    /// A format of strings, with its check.
    Text(fn(&str) -> bool),
    /// A format of integers.
    Int32,
    /// A format of integers.
    Int64,
    /// A format of numbers.
    Float,
    /// A format of numbers.
    Double,
}

impl Format {
    /// Returns the format with this name for a type. Absent if the server ignores it. Dashes in the name are
    /// ignored.
    pub(super) fn named(kind: &str, name: &str) -> Option<Self> {
        match (kind, name) {
            ("integer", "int32") => Some(Self::Int32),
            ("integer", "int64") => Some(Self::Int64),
            ("number", "float") => Some(Self::Float),
            ("number", "double") => Some(Self::Double),
            ("" | "string", _) => of_text(&name.replace('-', "")).map(Self::Text),
            _ => None,
        }
    }
}

/// Returns whether a string has a format, or the server does not know the format.
pub(crate) fn has_text_format(text: &str, format: &str) -> bool {
    of_text(&format.replace('-', "")).is_none_or(|is_valid| is_valid(text))
}

fn of_text(name: &str) -> Option<fn(&str) -> bool> {
    Some(match name {
        "bsonobjectid" => |it| it.len() == 24 && it.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => is_uri,
        "email" => is_email,
        "hostname" => is_hostname,
        "ipv4" => |it| it.contains('.') && ip(it).is_some(),
        "ipv6" => |it| it.contains(':') && it.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |it| UUID.is_match(it),
        "uuid3" => |it| UUID3.is_match(it),
        "uuid4" => |it| UUID4.is_match(it),
        "uuid5" => |it| UUID5.is_match(it),
        "isbn" => |it| is_isbn10(it) || is_isbn13(it),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => |it| it.len() == 11 && SSN.is_match(it),
        "hexcolor" => |it| HEX_COLOR.is_match(it),
        "rgbcolor" => |it| RGB_COLOR.is_match(it),
        "byte" => |it| !it.is_empty() && STANDARD.decode(it).is_ok(),
        "password" => |_| true,
        "date" => is_date,
        "datetime" => is_date_time,
        "duration" => is_duration,
        "k8sshortname" => |it| it.len() <= 63 && SHORT_NAME.is_match(it),
        "k8slongname" => {
            |it| it.len() <= 253 && it.split('.').all(|part| SHORT_NAME.is_match(part))
        }
        _ => return None,
    })
}

macro_rules! expressions {
    ($($name:ident = $text:expr;)*) => { $(
        static $name: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new($text).expect("a constant expression, which a test compiles")
        });
    )* };
}

expressions! {
    UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    SSN = r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$";
    HEX_COLOR = r"^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
    CREDIT_CARD = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$";
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    SHORT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    TIME = r"(?i)^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$";
    GO_DURATION = r"^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$";
    LOOSE_DURATION = r"(\d+)\s*([A-Za-zµ]+)";
}

/// Returns true if Go's `url.ParseRequestURI` accepts a text: an absolute URI or an absolute path.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.contains(|it: char| it.is_ascii_control() || it == ' ') {
        return false;
    }
    if text.starts_with('/') {
        return url::Url::parse("http://host").is_ok_and(|base| base.join(text).is_ok());
    }
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let mut letters = scheme.chars();
        letters
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
            && (!rest.starts_with("//") || url::Url::parse(text).is_ok() || rest == "//")
    })
}

/// Returns whether a text has the form `local@domain` or `Name <local@domain>`.
fn is_email(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>') {
        Some(rest) => match rest.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text.trim(),
    };
    address.rsplit_once('@').is_some_and(|(local, domain)| {
        let atom = |it: &str| {
            !it.is_empty()
                && it
                    .split('.')
                    .all(|part| !part.is_empty() && part.chars().all(is_atom))
        };
        let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
        (atom(local) || quoted) && (atom(domain) || domain.starts_with('['))
    })
}

/// Returns whether a character can be part of an atom (RFC 5322, section 3.2.3).
fn is_atom(it: char) -> bool {
    it.is_alphanumeric() || !it.is_ascii() || "!#$%&'*+/=?^_`{|}~-".contains(it)
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && HOSTNAME.is_match(text)
}

/// Parses an IP address. IPv4 addresses can have leading zeros.
fn ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse().ok();
    }
    let parts: Vec<u8> = text
        .split('.')
        .map(|part| {
            part.bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| part.parse().ok())
                .flatten()
        })
        .collect::<Option<_>>()?;
    let octets: [u8; 4] = parts.try_into().ok()?;
    Some(octets.into())
}

fn is_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, length)| {
        let most = match ip(address) {
            Some(IpAddr::V4(_)) => 32,
            Some(IpAddr::V6(_)) => 128,
            None => return false,
        };
        length.bytes().all(|byte| byte.is_ascii_digit())
            && length.parse::<u8>().is_ok_and(|length| length <= most)
    })
}

/// Returns whether a text is a MAC address of 6, 8 or 20 bytes, as `00:00:…`, `00-00-…` or `0000.0000.…`.
fn is_mac(text: &str) -> bool {
    let (separator, digits) = match text.as_bytes().get(2) {
        Some(b':') => (':', 2),
        Some(b'-') => ('-', 2),
        _ => ('.', 4),
    };
    let groups: Vec<&str> = text.split(separator).collect();
    let hex =
        |group: &&str| group.len() == digits && group.bytes().all(|it| it.is_ascii_hexdigit());
    matches!(groups.len() * digits / 2, 6 | 8 | 20) && groups.iter().all(hex)
}

fn digits(text: &str) -> String {
    text.chars().filter(|it| !matches!(it, ' ' | '-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    adds_up(text, 10, 11, |index, it| match it {
        'X' if index == 9 => Some(100),
        _ => Some(it.to_digit(10)? * (u32::try_from(index).ok()? + 1)),
    })
}

fn is_isbn13(text: &str) -> bool {
    adds_up(text, 13, 10, |index, it| {
        Some(it.to_digit(10)? * [1, 3][index % 2])
    })
}

/// Returns whether a text has `length` digits, and the sum of their weights is a multiple of `of`.
fn adds_up(text: &str, length: usize, of: u32, weigh: impl Fn(usize, char) -> Option<u32>) -> bool {
    let text = digits(text);
    let weighed = text.chars().enumerate();
    let sum: Option<u32> = weighed.map(|(index, it)| weigh(index, it)).sum();
    text.chars().count() == length && sum.is_some_and(|sum| sum.is_multiple_of(of))
}

fn is_credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    // The Luhn algorithm doubles every second digit from the right.
    let sum: u32 = text
        .chars()
        .rev()
        .filter_map(|it| it.to_digit(10))
        .enumerate()
        .map(|(index, it)| match (index % 2, it * 2) {
            (0, _) => it,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    CREDIT_CARD.is_match(&text) && sum.is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['t', 'T']) else {
        return false;
    };
    is_date(date)
        && TIME
            .captures(time)
            .is_some_and(|parts| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59")
}

/// Returns true for a duration of Go's `time.ParseDuration`, or a text such as `3 days` or `22 ns`.
fn is_duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    let is_unit = |unit: &str| {
        UNITS.iter().any(|names| {
            let longest = names.last().is_some_and(|last| unit.starts_with(last));
            longest || names.contains(&unit)
        })
    };
    GO_DURATION.is_match(text)
        || LOOSE_DURATION
            .captures_iter(text)
            .any(|parts| is_unit(&parts[2].to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(name: &str, text: &str) -> bool {
        matches!(Format::named("string", name), Some(Format::Text(check)) if check(text))
    }

    #[test]
    fn formats_accept_what_they_name() {
        for (name, good) in [
            ("date-time", "2014-12-15T19:30:20.000Z"),
            ("datetime", "2014-12-15t19:30:20+01:00"),
            ("date", "2014-12-15"),
            ("duration", "1h30m"),
            ("duration", "3 days"),
            ("uri", "https://example.com/a?b=c"),
            ("uri", "/absolute/path"),
            ("email", "A B <a@b.c>"),
            ("hostname", "a.example.com"),
            ("ipv4", "010.0.0.1"),
            ("ipv6", "::1"),
            ("cidr", "10.0.0.0/8"),
            ("mac", "01:23:45:67:89:ab"),
            ("uuid", "123e4567-E89B-12d3-a456-426614174000"),
            ("isbn", "0321751043"),
            ("isbn13", "978-0321751041"),
            ("creditcard", "4111-1111-1111-1111"),
            ("ssn", "111-22-3333"),
            ("hexcolor", "#fff"),
            ("rgbcolor", "rgb(255,255,255)"),
            ("byte", "aGk="),
            ("k8s-short-name", "a-b"),
            ("k8s-long-name", "a.b-c"),
        ] {
            assert!(matches(name, good), "{name}: {good}");
            assert!(name == "byte" || !matches(name, "!"), "{name}");
        }
        assert!(!matches("byte", "!"));
    }

    #[test]
    fn formats_refuse_what_only_looks_like_it() {
        for (name, bad) in [
            ("date-time", "2014-13-15T19:30:20Z"),
            ("date-time", "2014-12-15T24:30:20Z"),
            ("date-time", "2014-12-15"),
            ("date", "2014-02-30"),
            ("duration", "three days"),
            ("uri", "no uri"),
            ("ipv4", "::1"),
            ("ipv6", "1.2.3.4"),
            ("cidr", "10.0.0.0/33"),
            ("isbn10", "0321751044"),
            ("k8s-short-name", "A"),
        ] {
            assert!(!matches(name, bad), "{name}: {bad}");
        }
    }

    #[test]
    fn unknown_formats_are_not_checked() {
        assert!(Format::named("string", "int32").is_none());
        assert!(Format::named("integer", "date").is_none());
        assert!(Format::named("object", "date").is_none());
    }
}
