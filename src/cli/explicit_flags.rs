//! Which flags were typed.
//!
//! A flag's environment variable is set for many commands at once: it may speak of what this one has no use
//! for, and its errors are told under its own name.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The flags of a command that were typed. Options flatten it before all others: a value that was taken
/// out has no source any more.
#[derive(Clone, Debug)]
pub(super) struct ExplicitFlags(Vec<String>);

impl ExplicitFlags {
    /// Returns whether a flag was; `id` is the name of its field.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|typed| typed == id)
    }
}

impl FromArgMatches for ExplicitFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let ids = matches.ids().map(clap::Id::as_str);
        let typed = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Self(typed.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ExplicitFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        explicit_flags: ExplicitFlags,
        /// Set in every process.
        #[arg(long, env = "PATH")]
        in_environment: String,
        #[arg(long, default_value = "1")]
        by_default: String,
        #[arg(long)]
        typed_here: Option<String>,
    }

    #[test]
    fn what_the_environment_or_a_default_says_was_not_typed() {
        let line = Line::parse_from(["x", "--typed-here", "a"]);
        assert!(line.explicit_flags.contains("typed_here"));
        assert!(
            !line.explicit_flags.contains("in_environment"),
            "{}",
            line.in_environment
        );
        assert!(
            !line.explicit_flags.contains("by_default"),
            "{}",
            line.by_default
        );
        let line = Line::parse_from(["x", "--in-environment", "a"]);
        assert!(line.explicit_flags.contains("in_environment"));
        assert!(
            !line.explicit_flags.contains("typed_here"),
            "{:?}",
            line.typed_here
        );
    }
}
