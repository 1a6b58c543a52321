//! Diagnostics as a SARIF document, which code hosts show beside the lines.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::path::Path;

use serde_json::{Value, json};

use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;

/// Builds the document.
pub(super) fn document(diagnostics: &[Diagnostic]) -> Value {
    let results: Vec<Value> = diagnostics.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "rhai-operator", "version": env!("CARGO_PKG_VERSION")}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(diagnostic: &Diagnostic) -> Value {
    let Diagnostic {
        severity,
        file,
        line,
        column,
        message,
        hint,
    } = diagnostic;
    let level = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let hint = hint.as_deref().filter(|hint| !hint.is_empty());
    let text = hint.map_or_else(
        || message.clone(),
        |hint| format!("{message}\nhint: {hint}"),
    );
    let mut location = json!({"artifactLocation": {"uri": uri(file)}});
    // A region without a line is invalid.
    if *line > 0 {
        location["region"] = json!({"startLine": line});
        if *column > 0 {
            location["region"]["startColumn"] = json!(column);
        }
    }
    json!({
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    })
}

/// Returns the path relative to the project, as a URI reference.
fn uri(file: &Path) -> String {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    const RESERVED: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'#')
        .add(b'%')
        .add(b'<')
        .add(b'>')
        .add(b'?')
        .add(b':')
        .add(b'[')
        .add(b']')
        .add(b'\\')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    let path = file.strip_prefix(".").unwrap_or(file);
    utf8_percent_encode(&path.to_string_lossy(), RESERVED).to_string()
}
