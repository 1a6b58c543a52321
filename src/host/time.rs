//! Moments and durations: `now`, `parse_time`, `format_time`, `duration`.
//!
//! Moments are Unix seconds in UTC, so that arithmetic is plain.

use jiff::Timestamp;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use rhai::NativeCallContext;
use rhai::plugin::{Module, export_module, exported_module};

use super::session::Session;
use super::{HostResult, invalid};
use crate::model::duration;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// The present time in Unix seconds.
    ///
    /// Use it to compare, not to fill an object: what differs in each run is written in each run.
    ///
    /// ```rhai,no_run
    /// let age = now() - parse_time(meta.creationTimestamp);
    /// if age > duration("1h") {
    ///     log_warn("an hour old, and not ready");
    /// }
    /// ```
    #[rhai_fn(volatile, return_raw)]
    pub fn now(cx: NativeCallContext) -> HostResult<i64> {
        let session = Session::from_call(&cx)?;
        Ok(session.setup.clock.timestamp().as_second())
    }

    /// Reads a moment, in Unix seconds.
    ///
    /// - `text`: as Kubernetes writes it (RFC 3339), or as `format` says.
    /// - `format`: optional, in the words of strftime; a moment without offset is taken as UTC.
    ///
    /// Errors: `invalid` when the text is not such a moment.
    ///
    /// ```rhai
    /// assert(parse_time("1970-01-02T00:00:00Z") == 86400);
    /// assert(parse_time("1970-01-02T02:00:00+02:00") == 86400);
    /// assert(parse_time("02.01.1970 00:00", "%d.%m.%Y %H:%M") == 86400);
    /// ```
    #[rhai_fn(name = "parse_time", return_raw)]
    pub fn parse_time(text: &str) -> HostResult<i64> {
        let moment: Timestamp = text
            .parse()
            .map_err(|error| invalid(format!("`{text}` is not an RFC 3339 time: {error}")))?;
        Ok(moment.as_second())
    }

    #[rhai_fn(name = "parse_time", return_raw)]
    pub fn parse_time_as(text: &str, format: &str) -> HostResult<i64> {
        read_moment(text, format)
            .map(Timestamp::as_second)
            .map_err(|error| invalid(format!("`{text}` is not a time as `{format}`: {error}")))
    }

    /// Writes a moment as a text, in UTC.
    ///
    /// - `seconds`: Unix seconds.
    /// - `format`: optional, in the words of strftime; without it RFC 3339, as Kubernetes writes
    ///   it.
    ///
    /// Errors: `invalid` when the moment is out of range or the format unknown.
    ///
    /// ```rhai
    /// assert(format_time(86400) == "1970-01-02T00:00:00Z");
    /// assert(format_time(86400, "%Y%m%d") == "19700102");
    /// ```
    #[rhai_fn(name = "format_time", return_raw)]
    pub fn format_time(seconds: i64) -> HostResult<String> {
        write_moment(seconds, "%Y-%m-%dT%H:%M:%SZ").map_err(invalid)
    }

    #[rhai_fn(name = "format_time", return_raw)]
    pub fn format_time_as(seconds: i64, format: &str) -> HostResult<String> {
        write_moment(seconds, format).map_err(invalid)
    }

    /// A duration in whole seconds, rounded up.
    ///
    /// - `value`: a text as in Go (`1h30m`, `90s`, `500ms`), or a number of seconds.
    ///
    /// Errors: `invalid` when the text is not a duration.
    ///
    /// ```rhai
    /// assert(duration("1h30m") == 5400);
    /// assert(duration("100ms") == 1);
    /// assert(duration(90) == 90);
    /// ```
    #[rhai_fn(name = "duration", return_raw)]
    pub fn duration_text(value: &str) -> HostResult<i64> {
        let parsed = duration::parse(value).map_err(|error| invalid(error.to_string()))?;
        let whole = parsed.as_secs() + u64::from(parsed.subsec_nanos() > 0);
        i64::try_from(whole).map_err(|_| invalid(format!("`{value}` is too long")))
    }

    #[rhai_fn(name = "duration")]
    pub fn duration_seconds(value: i64) -> i64 {
        value
    }
}

/// A moment in a format of the caller's; UTC where the format has no offset.
fn read_moment(text: &str, format: &str) -> Result<Timestamp, jiff::Error> {
    let parts = BrokenDownTime::parse(format, text)?;
    if parts.offset().is_some() {
        return parts.to_timestamp();
    }
    let date = parts.to_date()?;
    let time = parts.to_time().unwrap_or_default();
    date.to_datetime(time)
        .to_zoned(TimeZone::UTC)
        .map(|moment| moment.timestamp())
}

/// A moment as a text.
fn write_moment(seconds: i64, format: &str) -> Result<String, String> {
    let moment = Timestamp::from_second(seconds)
        .map_err(|_| format!("{seconds} is out of the range of times"))?
        .to_zoned(TimeZone::UTC);
    strtime::format(format, &moment)
        .map_err(|error| format!("cannot use the format `{format}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_and_written() {
        let read = |text, format| read_moment(text, format).map(Timestamp::as_second);
        assert_eq!(read("1970-01-02", "%Y-%m-%d").unwrap(), 86400);
        assert_eq!(
            read("1970-01-02 01:00 +0100", "%Y-%m-%d %H:%M %z").unwrap(),
            86400
        );
        assert!(read("yesterday", "%Y-%m-%d").is_err());
        assert!(read("1970-01-02", "%").is_err());
        assert_eq!(write_moment(0, "%H:%M").unwrap(), "00:00");
    }

    #[test]
    fn times_that_cannot_be_formatted_are_errors() {
        assert!(write_moment(i64::MAX, "%Y").is_err());
        assert!(write_moment(0, "%").is_err());
        assert!(write_moment(0, "%!").is_err());
    }
}
