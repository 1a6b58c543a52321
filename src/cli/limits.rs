//! Flags that limit what one run of a role may use. All commands that run roles have them.

use clap::Args;

use crate::script::Limits;

/// The limits of one run.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Limits of a run")]
pub(super) struct RunLimits {
    /// Maximum memory that one run uses at a time.
    #[arg(
        long = "run-memory",
        value_name = "SIZE",
        env = "RHAI_OPERATOR_RUN_MEMORY",
        default_value = "128Mi",
        value_parser = bytes
    )]
    memory: usize,
    /// Maximum number of operations of the script engine in one run.
    #[arg(
        long = "run-operations",
        value_name = "N",
        env = "RHAI_OPERATOR_RUN_OPERATIONS",
        default_value_t = Limits::default().operations,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    operations: u64,
    /// Maximum number of calls in one run that leave the process, such as `k8s_get`.
    #[arg(
        long = "run-host-calls",
        value_name = "N",
        env = "RHAI_OPERATOR_RUN_HOST_CALLS",
        default_value_t = Limits::default().host_calls,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    host_calls: u64,
    /// Maximum number of objects that one run applies or creates.
    #[arg(
        long = "run-objects",
        value_name = "N",
        env = "RHAI_OPERATOR_RUN_OBJECTS",
        default_value_t = Limits::default().objects,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    objects: u64,
    /// Maximum depth of nested function calls, from 1 to 64.
    #[arg(
        long = "run-depth",
        value_name = "N",
        env = "RHAI_OPERATOR_RUN_DEPTH",
        default_value_t = DEPTH,
        value_parser = clap::value_parser!(u8).range(1..=i64::from(DEPTH))
    )]
    depth: u8,
}

/// The default and the maximum of `--run-depth`: the script engine reserves stack for this depth.
const DEPTH: u8 = 64;

impl From<RunLimits> for Limits {
    fn from(flags: RunLimits) -> Self {
        Self {
            memory: flags.memory,
            operations: flags.operations,
            host_calls: flags.host_calls,
            objects: flags.objects,
            depth: flags.depth.into(),
        }
    }
}

/// The least memory that lets a role run.
const LEAST: usize = 1 << 20;

/// Parses a number of bytes in the notation of Kubernetes.
fn bytes(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, usize); 6] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    let unit = UNITS
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (number, factor) = unit.unwrap_or((text, 1));
    let bytes = number
        .parse()
        .ok()
        .and_then(|number: usize| number.checked_mul(factor))
        .ok_or("expected a size, as in 128Mi")?;
    if bytes < LEAST {
        return Err("expected at least 1Mi".to_owned());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        limits: RunLimits,
    }

    fn limits(flags: &[&str]) -> Option<Limits> {
        let line = Line::try_parse_from([&["run"], flags].concat()).ok()?;
        Some(line.limits.into())
    }

    #[test]
    fn without_flags_the_limits_are_the_defaults() {
        assert_eq!(limits(&[]), Some(Limits::default()));
    }

    #[test]
    fn each_flag_sets_its_limit() {
        let set = limits(&[
            "--run-memory=64Mi",
            "--run-operations=5",
            "--run-host-calls=7",
            "--run-objects=8",
            "--run-depth=9",
        ]);
        let expected = Limits {
            memory: 64 << 20,
            operations: 5,
            host_calls: 7,
            objects: 8,
            depth: 9,
        };
        assert_eq!(set, Some(expected));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(bytes("1Gi"), Ok(1 << 30));
        assert_eq!(bytes("200M"), Ok(200_000_000));
        assert_eq!(bytes("2000000"), Ok(2_000_000));
        for text in ["", "x", "-1Mi", "1023Ki", "99999999999999Gi", "1.5Mi"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(limits(&["--run-operations=0"]), None);
        assert_eq!(limits(&["--run-depth=65"]), None);
    }
}
