//! Renders a template, to text or to objects.

use std::io;

use minijinja::{Environment, ErrorKind, Value};

use super::limits::{self, FUEL, MAX_VALUE};
use super::{manifest, placeholders};
use crate::script::HostError;

/// Renders a template. An error is of kind `invalid` (`not_found` if there is no such template), and
/// names the template, the line and the cause.
pub fn render(
    environment: &Environment<'_>,
    name: &str,
    scope: &Value,
) -> Result<String, HostError> {
    let mut output = Bounded(Vec::new());
    limits::begin();
    environment
        .get_template(name)
        .and_then(|template| {
            template
                .render_captured_to(scope.clone(), &mut output)
                .map(drop)
        })
        .map_err(|error| explain(name, &error))?;
    String::from_utf8(output.0)
        .map_err(|_| HostError::new("invalid", format!("templates/{name} is not text")))
}

/// Renders a template and parses the result as YAML documents. Data becomes scalars, never structure.
pub fn render_objects(
    environment: &Environment<'_>,
    name: &str,
    scope: &Value,
) -> Result<Vec<serde_json::Value>, HostError> {
    let (text, mut placeholders) = placeholders::with(|| render(environment, name, scope));
    let text = text?;
    let message = match manifest::parse(&text, &mut placeholders) {
        Ok(documents) => return Ok(documents),
        Err(manifest::Error::Syntax(error)) => {
            let at = error.position.line.saturating_sub(1);
            let line = text.lines().nth(at).unwrap_or_default();
            let message = format!("{error}: `{}`", line.trim());
            // The data itself may be a secret.
            let message = placeholders.replace(&message, |_| "{{ … }}".to_owned());
            format!("templates/{name}, rendered, is not YAML: {message}")
        }
        Err(manifest::Error::DuplicateKey(key)) => {
            format!("templates/{name}, rendered, is not YAML: duplicate mapping key: {key}")
        }
        Err(manifest::Error::TooLarge) => {
            let most = MAX_VALUE >> 20;
            format!("templates/{name}: more than {most} MiB of output")
        }
    };
    Err(HostError::new("invalid", message))
}

/// A buffer of at most [`MAX_VALUE`] bytes.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_VALUE {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Describes an error with its place, which can be in an included template.
pub(super) fn explain(name: &str, error: &minijinja::Error) -> HostError {
    if error.kind() == ErrorKind::TemplateNotFound && error.name().is_none() {
        return HostError::new("not_found", format!("the role has no templates/{name}"));
    }
    let mut place = format!("templates/{}", error.name().unwrap_or(name));
    if let Some(line) = error.line() {
        place = format!("{place}:{line}");
    }
    let what = match error.kind() {
        ErrorKind::OutOfFuel => format!("more than {FUEL} steps"),
        ErrorKind::WriteFailure => format!("more than {} MiB of output", MAX_VALUE >> 20),
        kind => error
            .detail()
            .map_or_else(|| kind.to_string(), ToOwned::to_owned),
    };
    HostError::new("invalid", format!("{place}: {what}"))
}
