//! The health endpoints and the version.

use http::Response;
use serde_json::json;

use super::respond::{self, Body};
use crate::VERSION;

/// Returns the response to a health or version path, if the path is one. `verbose` lists the individual
/// checks.
pub(super) fn answer(path: &str, verbose: bool) -> Option<Response<Body>> {
    match path {
        "version" => Some(version()),
        "healthz" | "livez" | "readyz" if verbose => {
            let parts = format!("[+]ping ok\n{path} check passed\n");
            Some(respond::text(200, parts))
        }
        "healthz" | "livez" | "readyz" => Some(respond::text(200, "ok")),
        _ => match path.split_once('/')? {
            ("healthz" | "livez" | "readyz", "ping") => Some(respond::plain(200, "ok")),
            _ => None,
        },
    }
}

/// Returns the version of Kubernetes that the server behaves like.
fn version() -> Response<Body> {
    respond::json(
        200,
        &json!({
            "major": "1",
            "minor": "36",
            "emulationMajor": "1",
            "emulationMinor": "36",
            "minCompatibilityMajor": "1",
            "minCompatibilityMinor": "35",
            "gitVersion": VERSION,
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "rustc",
            "platform": "linux/amd64",
        }),
    )
}
