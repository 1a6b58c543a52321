//! Generates a dashboard for Grafana from the metric families of the operator.

use serde_json::{Value, json};

use super::MARK;

/// The selector in place of `@` in queries.
const SELECTOR: &str = r#"job="$job",namespace="$namespace""#;
const PANEL_WIDTH: usize = 12;
const PANEL_HEIGHT: usize = 8;

/// A panel with graphs.
struct Panel {
    title: &'static str,
    /// The unit, by Grafana's identifier.
    unit: &'static str,
    /// The queries with the names of their graphs.
    queries: &'static [(&'static str, &'static str)],
}

const PANELS: [Panel; 17] = [
    Panel {
        title: "Runs by result",
        unit: "ops",
        queries: &[(
            "sum by (controller, result) (rate(controller_runtime_reconcile_total{@}[$__rate_interval]))",
            "{{controller}} {{result}}",
        )],
    },
    Panel {
        title: "Failed runs",
        unit: "ops",
        queries: &[
            (
                "sum by (controller) (rate(controller_runtime_reconcile_errors_total{@}[$__rate_interval]))",
                "{{controller}}",
            ),
            (
                "sum by (controller) (rate(controller_runtime_terminal_reconcile_errors_total{@}[$__rate_interval]))",
                "{{controller}} stalled",
            ),
        ],
    },
    Panel {
        title: "Length of a run (99th percentile)",
        unit: "s",
        queries: &[
            (
                "histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{@}[$__rate_interval])))",
                "{{controller}}",
            ),
            (
                "histogram_quantile(0.99, sum by (controller, le) (rate(rhai_operator_script_seconds_bucket{@}[$__rate_interval])))",
                "{{controller}} script",
            ),
        ],
    },
    Panel {
        title: "Runs in progress",
        unit: "short",
        queries: &[
            (
                "sum by (controller) (controller_runtime_active_workers{@})",
                "{{controller}}",
            ),
            (
                "sum by (controller) (controller_runtime_max_concurrent_reconciles{@})",
                "{{controller}} limit",
            ),
        ],
    },
    Panel {
        title: "Queue",
        unit: "short",
        queries: &[("sum by (controller) (workqueue_depth{@})", "{{controller}}")],
    },
    Panel {
        title: "Wait in the queue (99th percentile)",
        unit: "s",
        queries: &[(
            "histogram_quantile(0.99, sum by (controller, le) (rate(workqueue_queue_duration_seconds_bucket{@}[$__rate_interval])))",
            "{{controller}}",
        )],
    },
    Panel {
        title: "Retries",
        unit: "ops",
        queries: &[(
            "sum by (controller) (rate(workqueue_retries_total{@}[$__rate_interval]))",
            "{{controller}}",
        )],
    },
    Panel {
        title: "Longest run in progress",
        unit: "s",
        queries: &[(
            "max by (controller) (workqueue_longest_running_processor_seconds{@})",
            "{{controller}}",
        )],
    },
    Panel {
        title: "Requests to the API server",
        unit: "reqps",
        queries: &[(
            "sum by (method, code) (rate(rest_client_requests_total{@}[$__rate_interval]))",
            "{{method}} {{code}}",
        )],
    },
    Panel {
        title: "Applied and pruned objects",
        unit: "ops",
        queries: &[
            (
                "sum by (action) (rate(rhai_operator_applies_total{@}[$__rate_interval]))",
                "{{action}}",
            ),
            (
                "sum(rate(rhai_operator_prunes_total{@}[$__rate_interval]))",
                "pruned",
            ),
        ],
    },
    Panel {
        title: "Calls of host functions",
        unit: "ops",
        queries: &[(
            "sum by (function) (rate(rhai_operator_host_calls_total{@}[$__rate_interval]))",
            "{{function}}",
        )],
    },
    Panel {
        title: "Runs that a limit delayed or ended",
        unit: "ops",
        queries: &[
            (
                "sum by (controller, limit) (rate(rhai_operator_run_limits_total{@}[$__rate_interval]))",
                "{{controller}} {{limit}}",
            ),
            (
                "sum by (controller) (rate(rhai_operator_rate_limited_runs_total{@}[$__rate_interval]))",
                "{{controller}} delayed",
            ),
            (
                "sum by (controller) (rate(rhai_operator_unreadable_runs_total{@}[$__rate_interval]))",
                "{{controller}} unreadable",
            ),
        ],
    },
    Panel {
        title: "Watches that do not follow the API server",
        unit: "short",
        queries: &[(
            r#"sum by (kind, purpose, state) (rhai_operator_watch_state{@,state!="synced"})"#,
            "{{kind}} {{purpose}} {{state}}",
        )],
    },
    Panel {
        title: "Leader",
        unit: "short",
        queries: &[(
            "sum by (pod, name) (leader_election_master_status{@})",
            "{{pod}}",
        )],
    },
    Panel {
        title: "Objects in the caches",
        unit: "short",
        queries: &[("max by (kind) (rhai_operator_cache_objects{@})", "{{kind}}")],
    },
    Panel {
        title: "Memory",
        unit: "bytes",
        queries: &[
            ("max by (pod) (process_resident_memory_bytes{@})", "{{pod}}"),
            (
                "max by (pod) (rhai_operator_cache_bytes{@})",
                "{{pod}} caches",
            ),
        ],
    },
    Panel {
        title: "CPU",
        unit: "short",
        queries: &[(
            "sum by (pod) (rate(process_cpu_seconds_total{@}[$__rate_interval]))",
            "{{pod}}",
        )],
    },
];

/// Returns the dashboard of an operator as JSON.
pub(in crate::generate) fn dashboard(name: &str) -> String {
    let panels: Vec<Value> = PANELS.iter().enumerate().map(graph).collect();
    let dashboard = json!({
        "__generator": MARK,
        "editable": true,
        "panels": panels,
        "refresh": "1m",
        "schemaVersion": 39,
        "tags": ["rhai-operator"],
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            variable("namespace", "label_values(leader_election_master_status, namespace)"),
            variable("job", r#"label_values(leader_election_master_status{namespace="$namespace"}, job)"#),
        ]},
        "time": {"from": "now-1h", "to": "now"},
        "title": name,
        "uid": name,
    });
    format!("{dashboard:#}\n")
}

fn variable(name: &str, query: &str) -> Value {
    json!({
        "name": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
    })
}

fn graph((index, panel): (usize, &Panel)) -> Value {
    let targets = panel.queries.iter().zip('A'..);
    let targets: Vec<Value> = targets
        .map(|((query, legend), id)| {
            json!({
                "expr": query.replace('@', SELECTOR),
                "legendFormat": legend,
                "refId": id.to_string(),
            })
        })
        .collect();
    json!({
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "gridPos": {
            "x": index % 2 * PANEL_WIDTH,
            "y": index / 2 * PANEL_HEIGHT,
            "w": PANEL_WIDTH,
            "h": PANEL_HEIGHT,
        },
        "targets": targets,
    })
}
