//! The command line: the tree of commands, and the code that all commands share. Each command has a file.
//!
//! Data goes to stdout, messages go to stderr. Each command returns an [`Exit`]. [`main`] prints an error
//! once, with its causes. A closed pipe ends a command without a message.

mod check;
mod check_permissions;
mod completions;
mod connection;
mod convert;
mod dev;
mod explain;
mod explicit_flags;
mod generate;
mod init;
mod install;
mod limits;
mod logging;
mod new;
mod new_files;
mod output;
mod project;
mod role_run;
mod run;
#[cfg(feature = "scenario-tests")]
mod test;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::role::Toolchain;

/// A Kubernetes operator runtime: custom resources are reconciled by roles written in Rhai.
#[derive(Debug, Parser)]
#[command(name = "rhai-operator", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a project in the current folder.
    Init(init::Options),
    /// Add a kind, a role or a scenario to the project.
    #[command(subcommand)]
    New(new::Command),
    /// Run the operator: watch the kinds of watches.yaml and reconcile them with their roles.
    Run(run::Options),
    /// Run the operator on an API server in this process, without a cluster.
    Dev(dev::Options),
    /// Report all errors of watches.yaml and the roles.
    Check(check::Options),
    /// Run the scenario tests of molecule-tests/, on an API server in this process or on a cluster.
    #[cfg(feature = "scenario-tests")]
    Test(test::Options),
    /// Run or convert one role.
    #[command(subcommand)]
    Role(RoleCommand),
    /// Write the files that are derived from the project: all of them, or those of a subcommand.
    Generate(generate::Options),
    /// Print the manual of a host function, or the description of a YAML key.
    Explain(explain::Options),
    /// Print a script that completes commands and flags in a shell.
    Completions(completions::CompletionOptions),
    /// Write man pages.
    Man(completions::ManOptions),
    /// Print the version.
    Version(version::Options),
}

#[derive(Debug, Subcommand)]
enum RoleCommand {
    /// Run a role once for one custom resource, and show what it does.
    Run(Box<role_run::Options>),
    /// Convert the pipeline of a role to a script, and print the script.
    Convert(convert::Options),
}

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// The command succeeded. It may have printed notes and warnings.
    Done = 0,
    /// The command failed, or a file is invalid or missing.
    Failed = 1,
    /// The arguments contradict each other. Clap refuses single invalid arguments with the same
    /// code.
    Usage = 2,
    /// The role waits for an object.
    Waiting = 3,
    /// The plan contains changes.
    Planned = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Parses the arguments, runs the command and prints its error. `toolchain` compiles the roles: it is
/// [`crate::host::toolchain`], or one with more functions.
pub fn main(toolchain: Toolchain) -> ExitCode {
    let Arguments { command } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // If stdout or stderr is closed, there is no place to report the error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
        }
    };
    let result = match command {
        Command::Init(options) => options.run(),
        Command::New(command) => command.run(&toolchain),
        Command::Run(options) => options.run(toolchain),
        Command::Dev(options) => options.run(toolchain),
        Command::Check(options) => options.run(&toolchain),
        #[cfg(feature = "scenario-tests")]
        Command::Test(options) => options.run(toolchain),
        Command::Role(RoleCommand::Run(options)) => options.run(toolchain),
        Command::Role(RoleCommand::Convert(options)) => options.run(&toolchain),
        Command::Generate(options) => options.run(&toolchain),
        Command::Explain(options) => options.run(),
        Command::Completions(options) => options.run(Arguments::command()),
        Command::Man(options) => options.run(Arguments::command()),
        Command::Version(options) => options.run(),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) if is_closed_pipe(&error) => ExitCode::from(CLOSED_PIPE),
        Err(error) => print_error(&error).into(),
    }
}

/// The exit code that a shell reports for a process that SIGPIPE ended (128 + SIGPIPE).
const CLOSED_PIPE: u8 = 141;

/// Returns true if the reader of an output closed it, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = || cause.downcast_ref::<serde_json::Error>()?.io_error_kind();
        io.or_else(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

/// Prints an error and its causes to stderr.
fn print_error(error: &anyhow::Error) -> Exit {
    let _ = writeln!(io::stderr(), "error: {}", error_chain(error));
    Exit::Failed
}

/// Prints the errors and warnings of a project to stderr. Only `check` prints notes.
fn print_diagnostics(diagnostics: &[Diagnostic]) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    let wrong = |diagnostic: &&Diagnostic| diagnostic.severity != Severity::Note;
    let mut diagnostics = diagnostics.iter().filter(wrong);
    diagnostics.try_for_each(|diagnostic| writeln!(stderr, "{diagnostic}"))
}

/// Reports arguments that contradict each other.
fn usage_error(message: &str) -> io::Result<Exit> {
    writeln!(io::stderr(), "error: {message}")?;
    Ok(Exit::Usage)
}

/// Joins an error and its causes. Omits a cause that the text contains already.
fn error_chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.ends_with(&cause) {
            let separator = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{separator}{cause}");
        }
    }
    text
}

/// Formats a number of writes.
fn format_writes(count: usize) -> String {
    match count {
        1 => "1 write".to_owned(),
        count => format!("{count} writes"),
    }
}

/// The stack size of a server thread. Recursion over a value with the maximum nesting of `model::json` needs
/// less than 2 MB in a build without optimizations.
const STACK: usize = 8 << 20;

/// Creates the runtime of a command.
fn runtime(threads: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK)
        .enable_all()
        .build()?;
    Ok(runtime)
}

/// Returns the number of CPUs that this process may use. The standard library reads the affinity and the
/// cgroup quota.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_cause_is_printed_once() {
        let error = anyhow::anyhow!("no such file").context("cannot read x: no such file");
        let error = error.context("cannot start");
        assert_eq!(
            error_chain(&error),
            "cannot start: cannot read x: no such file"
        );
    }

    #[test]
    fn invalid_flag_values_are_usage_errors_that_name_the_flag() {
        for (flag, value) in [
            ("--metrics-bind-address", "8080"),
            ("--health-probe-bind-address", "::1:80"),
            ("--leader-election-id", "My Operator"),
            ("--leader-election-namespace", "A"),
            ("--max-concurrent-reconciles", "0"),
            ("--reconcile-period", "5"),
            ("--max-runs-per-minute", "0"),
            ("--graceful-shutdown-timeout", "soon"),
            ("--log-level", "loud"),
        ] {
            let error = Arguments::try_parse_from(["rhai-operator", "run", flag, value]);
            let error = error.unwrap_err();
            assert_eq!(error.exit_code(), Exit::Usage as i32, "{flag}");
            assert!(error.to_string().contains(flag), "{error}");
        }
    }

    #[test]
    fn every_flag_of_run_has_an_environment_variable_of_its_name() {
        let tree = Arguments::command();
        let run = tree.find_subcommand("run").unwrap();
        for flag in run.get_arguments().filter(|flag| flag.get_id() != "help") {
            let long = flag.get_long().unwrap();
            let expected = match long {
                "watch-namespace" => "WATCH_NAMESPACE".to_owned(),
                long => format!("RHAI_OPERATOR_{}", long.to_uppercase().replace('-', "_")),
            };
            let env = flag.get_env().and_then(|name| name.to_str());
            assert_eq!(env, Some(&*expected), "--{long}");
            assert!(flag.get_help().is_some(), "--{long} says what it does");
        }
    }
}
