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
    /// Least level to log: error, warn, info, debug, trace, or directives like `info,rhai_operator=debug`.
    #[arg(
        long,
        value_name = "LEVEL",
        env = "RHAI_OPERATOR_LOG_LEVEL",
        default_value = "info"
    )]
    pub(super) log_level: String,
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
    /// Without a level of the user's only errors are logged: for commands whose output says the rest.
    pub(super) fn quieter(&mut self) {
        if self.log_level == "info" {
            "off".clone_into(&mut self.log_level);
        }
    }

    /// Sets up the log of this process.
    pub(super) fn init(&self) -> Result<(), logging::Error> {
        logging::init(self.format(), &self.log_level)
    }

    /// The same with lines that go to `writer`, without colours.
    pub(super) fn init_to<W>(&self, writer: W) -> Result<(), logging::Error>
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        logging::init_to(writer, false, self.format(), &self.log_level)
    }

    fn format(&self) -> logging::Format {
        match self.log_format {
            Format::Auto => logging::Format::Auto,
            Format::Text => logging::Format::Text,
            Format::Json => logging::Format::Json,
        }
    }
}
