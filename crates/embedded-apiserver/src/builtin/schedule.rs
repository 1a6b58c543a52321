//! Schedules of CronJobs: five fields, or a name such as `@daily`.
//!
//! <https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax>

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, Zoned};

use crate::go;

/// The schedule of a CronJob.
#[derive(Debug)]
pub(crate) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// True if a day of the month or a day of the week is sufficient, because the schedule restricts both.
    either_day: bool,
    /// The fixed interval of `@every 5m`, which replaces the fields.
    every: Option<std::time::Duration>,
}

/// The bounds of a field, and the names of its values.
struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds {
    least: 0,
    most: 59,
    names: &[],
};
const HOURS: Bounds = Bounds {
    least: 0,
    most: 23,
    names: &[],
};
const DAYS: Bounds = Bounds {
    least: 1,
    most: 31,
    names: &[],
};
const MONTHS: Bounds = Bounds {
    least: 1,
    most: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
};
const WEEKDAYS: Bounds = Bounds {
    least: 0,
    most: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// The search for the next time ends after this many days, as in the real controller, which searches for five
/// years. A 29 February on a given weekday can be up to 40 years away.
const HORIZON_DAYS: i64 = 5 * 366;

impl Schedule {
    /// Parses a schedule. Errors have the message of the real server.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = match text
            .strip_prefix("TZ=")
            .or_else(|| text.strip_prefix("CRON_TZ="))
        {
            Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest).trim(),
            None => text.trim(),
        };
        if let Some(every) = text.strip_prefix("@every ") {
            let every = go::parse_duration(every).ok_or_else(|| {
                format!("failed to parse duration {text}: time: invalid duration {every:?}")
            })?;
            let all = Self::parse("* * * * *")?;
            return Ok(Self {
                every: Some(every),
                ..all
            });
        }
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other if other.starts_with('@') => {
                return Err(format!("unrecognized descriptor: {other}"));
            }
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            let found = fields.join(" ");
            return Err(format!(
                "expected exactly 5 fields, found {}: [{found}]",
                fields.len()
            ));
        };
        let is_open = |field: &str| field.starts_with('*') || field.starts_with('?');
        Ok(Self {
            minutes: MINUTES.parse(minutes)?,
            hours: HOURS.parse(hours)?,
            days: DAYS.parse(days)?,
            months: MONTHS.parse(months)?,
            weekdays: WEEKDAYS.parse(weekdays)?,
            either_day: !is_open(days) && !is_open(weekdays),
            every: None,
        })
    }

    /// Returns the first time of the schedule after `time` in a time zone. Absent if no day matches.
    pub(crate) fn next_after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if let Some(every) = self.every {
            let every = i64::try_from(every.as_secs()).ok()?.max(1);
            return time.checked_add(every.seconds()).ok();
        }
        let start = time.to_zoned(zone.clone());
        let mut at = start.start_of_day().ok()?;
        for _ in 0..HORIZON_DAYS {
            if self.fits_day(&at)
                && let Some(found) = self.within_day(&at, time)
            {
                return Some(found);
            }
            at = at.tomorrow().ok()?.start_of_day().ok()?;
        }
        None
    }

    fn fits_day(&self, day: &Zoned) -> bool {
        let number = |value: i8| u32::try_from(value).unwrap_or_default();
        let month = has(self.months, number(day.month()));
        let of_month = has(self.days, number(day.day()));
        let of_week = has(self.weekdays, number(day.weekday().to_sunday_zero_offset()));
        month
            && if self.either_day {
                of_month || of_week
            } else {
                of_month && of_week
            }
    }

    fn within_day(&self, day: &Zoned, after: Timestamp) -> Option<Timestamp> {
        for hour in
            (0..24_i8).filter(|hour| has(self.hours, u32::try_from(*hour).unwrap_or_default()))
        {
            for minute in
                (0..60_i8).filter(|one| has(self.minutes, u32::try_from(*one).unwrap_or_default()))
            {
                let at = day
                    .with()
                    .hour(hour)
                    .minute(minute)
                    .second(0)
                    .build()
                    .ok()?;
                if at.timestamp() > after {
                    return Some(at.timestamp());
                }
            }
        }
        None
    }
}

fn has(bits: u64, at: u32) -> bool {
    bits & (1 << at) != 0
}

impl Bounds {
    fn parse(&self, field: &str) -> Result<u64, String> {
        let mut bits = 0;
        for part in field.split(',') {
            bits |= self.parse_range(part)?;
        }
        Ok(bits)
    }

    fn parse_range(&self, part: &str) -> Result<u64, String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step)?)),
            None => (part, None),
        };
        let (least, most) = match range {
            "*" | "?" => (self.least, self.most),
            _ => match range.split_once('-') {
                Some((least, most)) => (self.number(least)?, self.number(most)?),
                None if step.is_some() => (self.number(range)?, self.most),
                None => (self.number(range)?, self.number(range)?),
            },
        };
        if least < self.least {
            return Err(format!(
                "beginning of range ({least}) below minimum ({}): {part}",
                self.least
            ));
        }
        if most > self.most {
            return Err(format!(
                "end of range ({most}) above maximum ({}): {part}",
                self.most
            ));
        }
        if least > most {
            return Err(format!(
                "beginning of range ({least}) beyond end of range ({most}): {part}"
            ));
        }
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(format!("step of range should be a positive number: {part}"));
        }
        let steps = (least..=most).step_by(usize::try_from(step).unwrap_or(usize::MAX));
        Ok(steps.fold(0, |bits, at| bits | 1 << at))
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let lower = text.to_lowercase();
        match self
            .names
            .iter()
            .zip(self.least..)
            .find(|(name, _)| **name == lower)
        {
            Some((_, number)) => Ok(number),
            None => number(text),
        }
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let after = after.parse().unwrap();
        let found = Schedule::parse(schedule)
            .unwrap()
            .next_after(after, &TimeZone::UTC);
        found.map_or_else(String::new, |time| time.to_string())
    }

    #[test]
    fn the_next_time_is_the_first_that_fits() {
        for (schedule, after, expected) in [
            ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
            (
                "*/5 * * * *",
                "2026-01-01T00:01:30Z",
                "2026-01-01T00:05:00Z",
            ),
            ("30 2 * * *", "2026-01-01T02:30:00Z", "2026-01-02T02:30:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            (
                "0 12 13 * fri",
                "2026-01-01T00:00:00Z",
                "2026-01-02T12:00:00Z",
            ),
            ("@monthly", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
            ("@every 90s", "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"),
            ("0 0 31 2 *", "2026-01-01T00:00:00Z", ""),
        ] {
            assert_eq!(next(schedule, after), expected, "{schedule}");
        }
    }

    #[test]
    fn invalid_schedules_are_refused() {
        let refused = |text: &str| Schedule::parse(text).unwrap_err();
        assert_eq!(refused("x"), "expected exactly 5 fields, found 1: [x]");
        assert_eq!(
            refused("60 * * * *"),
            "end of range (60) above maximum (59): 60"
        );
        assert_eq!(
            refused("*/0 * * * *"),
            "step of range should be a positive number: */0"
        );
        assert_eq!(refused("@never"), "unrecognized descriptor: @never");
    }
}
