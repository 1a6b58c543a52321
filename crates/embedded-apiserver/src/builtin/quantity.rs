//! Quantities: amounts with a suffix such as `100m`, `1.5Gi` or `1e3`.
//!
//! Amounts are stored in billionths, which is the precision of Kubernetes. Smaller fractions are rounded up.

use std::str::FromStr;

/// Billionths in one.
const NANO: i128 = 1_000_000_000;

/// The format of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A decimal suffix: `m`, none, `k`, `M`
    Decimal,
    /// A binary suffix: `Ki`, `Mi`
    Binary,
    /// An exponent: `e3`
    Exponent,
}

/// A parsed quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    nano: i128,
    format: Format,
}

impl Quantity {
    /// Returns the amount in billionths.
    pub(crate) fn nano(self) -> i128 {
        self.nano
    }

    /// Returns the quantity of a number of things.
    pub(crate) fn whole(number: usize) -> Self {
        Self {
            nano: i128::try_from(number).unwrap_or(i128::MAX / NANO) * NANO,
            format: Format::Decimal,
        }
    }

    /// Returns the sum, in the format of the first quantity that is not zero.
    pub(crate) fn plus(self, other: Self) -> Self {
        let format = if self.nano == 0 { other } else { self }.format;
        let nano = self.nano.saturating_add(other.nano);
        Self { nano, format }
    }

    /// Returns the difference.
    pub(crate) fn minus(self, other: Self) -> Self {
        let nano = self.nano.saturating_sub(other.nano);
        Self { nano, ..self }
    }

    /// Returns whether the amount is negative.
    pub(crate) fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Returns the text that the API server writes.
    pub(crate) fn canonical(self) -> String {
        if self.nano == 0 {
            return "0".to_owned();
        }
        let small = self.nano.abs() < 1024 * NANO;
        match self.format {
            Format::Binary if !small => binary(self.nano),
            Format::Exponent => decimal(self.nano, |power| {
                if power == 0 {
                    String::new()
                } else {
                    format!("e{power}")
                }
            }),
            Format::Binary | Format::Decimal => {
                decimal(self.nano, |power| suffix(power).to_owned())
            }
        }
    }
}

/// Returns the canonical text of a quantity. Absent for an invalid quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    text.parse().ok().map(Quantity::canonical)
}

/// Returns the canonical text of a quantity that is stored in thousandths, rounded up.
pub(crate) fn canonical_milli(text: &str) -> Option<String> {
    let mut amount: Quantity = text.parse().ok()?;
    let milli = NANO / 1000;
    amount.nano += (milli - amount.nano.rem_euclid(milli)) % milli;
    Some(amount.canonical())
}

fn binary(nano: i128) -> String {
    // A fraction of a byte is rounded away from zero.
    let mut whole = nano / NANO + (nano % NANO).signum();
    let mut at = 0;
    while whole % 1024 == 0 && at + 1 < BINARY.len() {
        whole /= 1024;
        at += 1;
    }
    format!("{whole}{}", BINARY[at])
}

/// Formats an amount with the largest power of a thousand that leaves no fraction.
fn decimal(nano: i128, suffix: impl Fn(i32) -> String) -> String {
    let mut amount = nano;
    let mut power = -9;
    while amount % 1000 == 0 && power < 18 {
        amount /= 1000;
        power += 3;
    }
    format!("{amount}{}", suffix(power))
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

fn suffix(power: i32) -> &'static str {
    let found = DECIMAL.iter().find(|(_, one)| *one == power);
    found.map_or("", |(suffix, _)| suffix)
}

/// The error for a text that is not a quantity.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl FromStr for Quantity {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let text = text.trim();
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = digits
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        let (multiplier, power, format) = scale(suffix)?;
        let nano = amount(number, multiplier, power)?;
        Ok(Self {
            nano: if negative { -nano } else { nano },
            format,
        })
    }
}

/// Parses a suffix to a factor and a power of ten.
fn scale(suffix: &str) -> Result<(i128, i32, Format), Malformed> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Ok((1, *power, Format::Decimal));
    }
    if let Some(at) = BINARY.iter().position(|name| *name == suffix) {
        return Ok((1 << (10 * at), 0, Format::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).ok_or(Malformed)?;
    let power: i32 = exponent.parse().map_err(|_| Malformed)?;
    Ok((1, power, Format::Exponent))
}

/// Returns `number × multiplier × 10^power` in billionths, rounded up.
fn amount(number: &str, multiplier: i128, power: i32) -> Result<i128, Malformed> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(Malformed);
    }
    // Digits beyond these exceed the precision of Kubernetes.
    let fraction: String = fraction.chars().take(18).collect();
    let digits: i128 = format!("0{whole}{fraction}")
        .parse()
        .map_err(|_| Malformed)?;
    let places = i32::try_from(fraction.len()).map_err(|_| Malformed)?;
    let shift = power.checked_add(9 - places).ok_or(Malformed)?;
    let scaled = digits.checked_mul(multiplier).ok_or(Malformed)?;
    let factor = 10_i128.checked_pow(shift.unsigned_abs());
    match factor {
        Some(factor) if shift >= 0 => scaled.checked_mul(factor).ok_or(Malformed),
        Some(factor) => Ok(scaled / factor + i128::from(scaled % factor != 0)),
        None if shift < 0 => Ok(i128::from(scaled != 0)),
        None => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_the_server_writes_them() {
        for (given, written) in [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("100", "100"),
            ("1024", "1024"),
            ("0", "0"),
            ("1e3", "1e3"),
            ("0Gi", "0"),
            ("512Ki", "512Ki"),
            ("-2", "-2"),
            (".5", "500m"),
            ("0.0000000001", "1n"),
        ] {
            assert_eq!(canonical(given).as_deref(), Some(written), "{given}");
        }
        assert_eq!(canonical_milli("1.0001").as_deref(), Some("1001m"));
        assert_eq!(canonical_milli("100u").as_deref(), Some("1m"));
        assert_eq!(canonical_milli("250m").as_deref(), Some("250m"));
        for wrong in ["", "x", "1x", "1.2.3", "e3", "--1", "1 Gi", "."] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }
}
