//! Flags of the log.

use clap::{Args, ValueEnum};
use tracing_subscriber::fmt::MakeWriter;

use crate::telemetry::logging;

/// The heading of these flags in `--help`. Without it, they would appear under the heading of the flags
/// before them.
const HEADING: &str = "Log";

/// The format and the level of the log.
#[derive(Clone, Debug, Args)]
pub(super) struct Logging {
    /// Format of log lines.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "RHAI_OPERATOR_LOG_FORMAT",
        default_value = "auto",
        help_heading = HEADING
    )]
    pub(super) log_format: Format,
    /// Minimum level of log lines: error, warn, info, debug or trace, or directives such as
    /// `info,rhai_operator=debug`. Default: info. Commands that print a report do not log its content again.
    #[arg(
        long,
        value_name = "LEVEL",
        env = "RHAI_OPERATOR_LOG_LEVEL",
        value_parser = level,
        help_heading = HEADING
    )]
    pub(super) log_level: Option<String>,
}

/// The log filter of a command without `--log-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultFilter {
    /// The level info.
    Info,
    /// The level info, without the results of runs, which the command shows.
    NoRuns,
    /// No log: the report of `test` contains what matters.
    #[cfg(feature = "scenario-tests")]
    Nothing,
}

impl DefaultFilter {
    fn directives(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::NoRuns => "info,rhai_operator::reconcile=warn",
            #[cfg(feature = "scenario-tests")]
            Self::Nothing => "off",
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// JSON in a cluster, text elsewhere
    Auto,
    /// Text for people
    Text,
    /// One JSON object per line
    Json,
}

impl Logging {
    /// Initializes the log of this process.
    pub(super) fn init(&self, default: DefaultFilter) -> Result<(), logging::Error> {
        logging::init(self.format(), self.level(default))
    }

    /// Initializes a log that writes to `writer`, without colors.
    pub(super) fn init_to<W>(&self, writer: W, default: DefaultFilter) -> Result<(), logging::Error>
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        logging::init_to(writer, false, self.format(), self.level(default))
    }

    fn level(&self, default: DefaultFilter) -> &str {
        let asked = self.log_level.as_deref();
        // An empty environment variable counts as unset.
        asked
            .filter(|level| !level.is_empty())
            .unwrap_or_else(|| default.directives())
    }

    fn format(&self) -> logging::Format {
        match self.log_format {
            Format::Auto => logging::Format::Auto,
            Format::Text => logging::Format::Text,
            Format::Json => logging::Format::Json,
        }
    }
}

fn level(text: &str) -> Result<String, logging::Error> {
    logging::check(text).map(|()| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_level_overrides_the_default() {
        let of = |level: Option<&str>| Logging {
            log_format: Format::Auto,
            log_level: level.map(str::to_owned),
        };
        for default in [
            DefaultFilter::Info,
            DefaultFilter::NoRuns,
            DefaultFilter::Nothing,
        ] {
            assert_eq!(of(Some("info")).level(default), "info");
            assert_eq!(of(None).level(default), default.directives());
            assert_eq!(of(Some("")).level(default), default.directives());
        }
    }
}
