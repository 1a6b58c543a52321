//! Flags that the user wrote on the command line.
//!
//! An environment variable is set for many commands at once. A command therefore ignores a variable that it
//! cannot use, but refuses the flag.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The flags that the user wrote. Options must flatten this field before all others: clap forgets the
/// source of a value when it takes the value out.
#[derive(Clone, Debug)]
pub(super) struct ExplicitFlags(Vec<String>);

impl ExplicitFlags {
    /// Returns true if the user wrote a flag; `id` is the name of its field.
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
    fn values_of_variables_and_defaults_are_not_explicit() {
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
