//! Flags of the log.

use clap::{Args, ValueEnum};
use tracing_subscriber::fmt::MakeWriter;

use crate::telemetry::logging;

/// How the log looks and how much it says.
#[derive(Clone, Debug, Args)]
pub(super) struct Logging {
    /// How log lines look; auto is json in a cluster and text elsewhere.
    #[arg(long, env = "RHAI_OPERATOR_LOG_FORMAT", default_value = "auto")]
    pub(super) log_format: Format,
    /// Least level to log: error, warn, info, debug, trace, or directives like `info,rhai_operator=debug`;
    /// without it info, but for what the command prints itself.
    #[arg(long, value_name = "LEVEL", env = "RHAI_OPERATOR_LOG_LEVEL", value_parser = level)]
    pub(super) log_level: Option<String>,
}

/// What is logged where nobody asks for a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultFilter {
    /// What happens.
    Info,
    /// What happens but for the ends of runs, which the command shows.
    NoRuns,
    /// Nothing: the report of `test` contains what matters.
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

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// JSON in a cluster, text elsewhere.
    Auto,
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Logging {
    /// Sets up the log of this process.
    pub(super) fn init(&self, unasked: DefaultFilter) -> Result<(), logging::Error> {
        logging::init(self.format(), self.level(unasked))
    }

    /// The same with lines that go to `writer`, without colours.
    pub(super) fn init_to<W>(&self, writer: W, unasked: DefaultFilter) -> Result<(), logging::Error>
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        logging::init_to(writer, false, self.format(), self.level(unasked))
    }

    fn level(&self, unasked: DefaultFilter) -> &str {
        let asked = self.log_level.as_deref();
        // A variable that is set to nothing asks for nothing.
        asked
            .filter(|level| !level.is_empty())
            .unwrap_or_else(|| unasked.directives())
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
    fn a_level_that_is_asked_for_stands() {
        let of = |level: Option<&str>| Logging {
            log_format: Format::Auto,
            log_level: level.map(str::to_owned),
        };
        for unasked in [
            DefaultFilter::Info,
            DefaultFilter::NoRuns,
            DefaultFilter::Nothing,
        ] {
            assert_eq!(of(Some("info")).level(unasked), "info");
            assert_eq!(of(None).level(unasked), unasked.directives());
            assert_eq!(of(Some("")).level(unasked), unasked.directives());
        }
    }
}
