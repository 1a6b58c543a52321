//! The log of the process: one subscriber, which writes text or JSON lines to stderr or to the view that
//! draws the terminal.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{self, FmtSpan};
use tracing_subscriber::fmt::{FormatFields, MakeWriter};

use crate::model::redact::escaped;

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON in a cluster, text elsewhere.
    #[default]
    Auto,
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The log could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The level is neither a level nor a list of directives.
    #[error(
        "expected off, error, warn, info, debug, trace, or directives such as info,rhai_operator=debug, found {text:?}"
    )]
    Level {
        /// The invalid value.
        text: String,
        /// The error of the parser, or empty.
        #[source]
        source: Option<tracing_subscriber::filter::ParseError>,
    },
    /// A subscriber is there already.
    #[error("the log is already set up")]
    Twice(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Sets up the log of this process. `level` is a level, or directives like `info,rhai_operator=debug`.
pub(crate) fn init(format: Format, level: &str) -> Result<(), Error> {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    init_to(std::io::stderr, colours, format, level)
}

/// Initializes a log that writes to `writer`.
pub(crate) fn init_to<W>(writer: W, colours: bool, format: Format, level: &str) -> Result<(), Error>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = filter(level)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_span_events(FmtSpan::NONE);
    if is_json(format) {
        builder.json().flatten_event(true).try_init()
    } else {
        builder.with_ansi(colours).fmt_fields(fields()).try_init()
    }
    .map_err(Error::Twice)
}

/// Writes fields in a log for people: what comes from data cannot control a terminal, and cannot look
/// like a log line of its own, because further lines are indented.
fn fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    let fields = format::debug_fn(|writer, field, value| {
        let text = format!("{value:?}").replace('\n', "\n    ");
        let text = escaped(&text);
        match field.name() {
            "message" => write!(writer, "{text}"),
            name => write!(writer, "{}={text}", name.trim_start_matches("r#")),
        }
    });
    fields.delimited(" ")
}

/// Refuses what [`init`] would refuse as a level.
pub(crate) fn check(level: &str) -> Result<(), Error> {
    filter(level).map(drop)
}

fn filter(level: &str) -> Result<EnvFilter, Error> {
    let refused = |source| Error::Level {
        text: level.to_owned(),
        source,
    };
    // The parser takes any other word for the name of a module, and logs nothing else.
    let bare = level.split(',');
    if !level.contains('[') && !bare.into_iter().all(ends_in_a_level) {
        return Err(refused(None));
    }
    let filter = EnvFilter::try_new(level).map_err(|source| refused(Some(source)))?;
    // It repeats each failed request as an error without saying which; ours say.
    let quiet =
        (!level.contains("kube_client")).then(|| "kube_client::client::builder=off".parse());
    Ok(quiet
        .and_then(Result::ok)
        .into_iter()
        .fold(filter, EnvFilter::add_directive))
}

fn ends_in_a_level(directive: &str) -> bool {
    let level = directive
        .rsplit_once('=')
        .map_or(directive, |(_, level)| level);
    level.parse::<LevelFilter>().is_ok()
}

/// The kubelet sets this variable in every container.
fn is_json(format: Format) -> bool {
    match format {
        Format::Auto => std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
        Format::Text => false,
        Format::Json => true,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// The lines of a log.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn data_cannot_control_a_terminal_nor_make_a_line() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .fmt_fields(fields())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let data = "a\u{1b}[2J\n2026-01-01 ERROR forged \u{202e}";
            let span = tracing::info_span!("run", object.r#ref = %data);
            let _entered = span.enter();
            tracing::info!(error = %data, text = data, "{data}");
        });
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(!text.contains("\n2026-01-01 ERROR"), "{text}");
        assert!(text.contains("error=a\\u{1b}[2J"), "{text}");
    }

    #[test]
    fn an_invalid_level_is_refused_with_its_text() {
        for text in [
            "info,=x=y",
            "loud",
            "info,rhai_operator",
            "rhai_operator=loud",
        ] {
            let error = check(text).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn levels_and_directives_are_taken() {
        for text in [
            "off",
            "INFO",
            "info,rhai_operator=debug",
            "warn,a::b=trace",
            "[run{role=x}]=debug",
        ] {
            assert!(check(text).is_ok(), "{text}");
        }
    }
}
