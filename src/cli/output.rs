//! The flag that says for whom a command writes.

use clap::ValueEnum;

/// How the data of a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}
