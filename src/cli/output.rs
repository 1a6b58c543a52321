//! The output format of a command.

use clap::ValueEnum;

/// The format of the data that a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// Text for people
    Text,
    /// One JSON document
    Json,
}
