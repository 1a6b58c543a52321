//! Kubernetes quantities as numbers: `quantity`.

use rhai::plugin::{Module, export_module, exported_module};

use super::{HostResult, invalid};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// A Kubernetes quantity as a floating-point number that can be compared and summed.
    ///
    /// - `value`: a number, or a text such as `500m`, `2`, `1.5Gi`, `100k`, `3e6`.
    ///
    /// Errors: `invalid` when it is not a quantity.
    ///
    /// ```rhai
    /// assert(quantity("500m") == 0.5);
    /// assert(quantity("1Gi") > quantity("1G"));
    /// assert(quantity("1024Mi") == quantity("1Gi"));
    /// assert(quantity(2) == 2.0);
    /// ```
    #[rhai_fn(name = "quantity", return_raw)]
    pub fn quantity_text(value: &str) -> HostResult<f64> {
        parse(value).ok_or_else(|| {
            invalid(format!(
                "`{value}` is not a quantity such as `500m`, `2` or `1.5Gi`"
            ))
        })
    }

    #[rhai_fn(name = "quantity")]
    #[expect(clippy::cast_precision_loss, reason = "exact to 2^53, which is 8 Pi")]
    pub fn quantity_int(value: i64) -> f64 {
        value as f64
    }

    #[rhai_fn(name = "quantity")]
    pub fn quantity_float(value: f64) -> f64 {
        value
    }
}

/// The number behind a quantity's text, by the grammar of `apimachinery/pkg/api/resource`.
fn parse(text: &str) -> Option<f64> {
    let end = text
        .find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    if !number.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    Some(number.parse::<f64>().ok()? * factor(suffix)?)
}

/// Returns the factor of a suffix.
fn factor(suffix: &str) -> Option<f64> {
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let position = |of: &[&str]| of.iter().position(|known| *known == suffix);
    if let Some(n) = position(&decimal) {
        return Some(10_f64.powi(3 * (i32::try_from(n).ok()? - 3)));
    }
    if let Some(n) = position(&binary) {
        return Some(2_f64.powi(10 * (i32::try_from(n).ok()? + 1)));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-30..=30)
        .contains(&exponent)
        .then(|| 10_f64.powi(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_multiply() {
        let cases = [
            ("0", 0.0),
            ("2", 2.0),
            ("-1.5", -1.5),
            (".5", 0.5),
            ("100m", 0.1),
            ("250u", 0.00025),
            ("1k", 1e3),
            ("1E", 1e18),
            ("1E3", 1e3),
            ("12e-1", 1.2),
            ("1Ki", 1024.0),
            ("1.5Gi", 1.5 * 1024.0 * 1024.0 * 1024.0),
        ];
        for (text, expected) in cases {
            let found = parse(text).expect(text);
            assert!(
                (found - expected).abs() <= expected.abs() * 1e-12,
                "{text}: {found}"
            );
        }
    }

    #[test]
    fn invalid_quantities_are_refused() {
        for text in [
            "", "m", "1 Gi", "1gi", "1KB", "--1", "1.2.3", "e3", "1e", "1e999", "NaN", "inf",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
