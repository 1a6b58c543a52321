//! Log lines and spans are written with the macros of `src/telemetry/log.rs`, which take no text from outside.

use crate::source::{self, Source};

/// The modules that may call macros of `tracing`.
const TELEMETRY: &str = "telemetry/";

const MACROS: [&str; 12] = [
    "event",
    "error",
    "warn",
    "info",
    "debug",
    "trace",
    "span",
    "error_span",
    "warn_span",
    "info_span",
    "debug_span",
    "trace_span",
];

/// The files that may log texts from outside of a run, of which no secrets are masked. A file is added only if
/// no run reaches the place, or the text cannot quote the value of a Secret.
const OUTSIDE_RUNS: [&str; 17] = [
    "apply/inventory.rs",
    "cli/dev/manifests.rs",
    "cli/role_run/custom_resource.rs",
    "cluster/certificate_reload.rs",
    "cluster/discovery.rs",
    "cluster/watch/task.rs",
    "cluster/watch/wire.rs",
    "controller/release_unserved.rs",
    "controller/serve.rs",
    "lease/elector.rs",
    "model/redact/public_text.rs",
    "operator/loader.rs",
    "operator/mod.rs",
    "reconcile/events.rs",
    "reconcile/mod.rs",
    "role/file_watch.rs",
    "server/serve.rs",
];

fn tracing_macros(sources: &[Source]) -> Vec<String> {
    let is_call = |line: &str| {
        MACROS
            .iter()
            .any(|name| line.contains(&format!("tracing::{name}!")))
            || line.contains("use tracing::")
                && line
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| MACROS.contains(&word))
    };
    sources
        .iter()
        .filter(|source| !source.path.starts_with(TELEMETRY))
        .flat_map(|source| source.text.lines().map(move |line| (source, line)))
        .filter(|(_, line)| is_call(line))
        .map(|(source, line)| format!("{}: {}", source.path, line.trim()))
        .collect()
}

fn unmasked_texts(sources: &[Source]) -> Vec<&str> {
    sources
        .iter()
        .filter(|source| source.text.contains("outside_runs"))
        .map(|source| source.path.as_str())
        .collect()
}

#[test]
fn only_telemetry_calls_macros_of_tracing() {
    assert_eq!(tracing_macros(&source::of_operator()), [""; 0]);
}

#[test]
fn a_macro_of_tracing_is_found() {
    let sources = [
        Source::new("telemetry/log.rs", "tracing::info!(a);\n"),
        Source::new("apply/mod.rs", "use tracing::Span;\nlog::info!(\"a\");\n"),
        Source::new("cli/mod.rs", "use tracing::{Span, warn};\n"),
        Source::new("role/mod.rs", "    tracing::error_span!(\"a\");\n"),
    ];
    assert_eq!(
        tracing_macros(&sources),
        [
            "cli/mod.rs: use tracing::{Span, warn};",
            "role/mod.rs: tracing::error_span!(\"a\");"
        ]
    );
}

#[test]
fn unmasked_texts_are_logged_only_where_no_secret_is_known() {
    assert_eq!(unmasked_texts(&source::of_operator()), OUTSIDE_RUNS);
}
