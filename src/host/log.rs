//! The role's own words: `log_debug`, `log_info`, `log_warn`, `log_error`, `print`.

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{
    Array, Blob, Dynamic, FuncRegistration, ImmutableString, Map, NativeCallContext, Variant,
};
use tracing::Level;

use super::session::Session;
use super::{HostResult, arguments};
use crate::telemetry::log;

/// The target of log lines of roles, so that filters can distinguish them from those of the runtime.
pub const TARGET: &str = "rhai_operator::role";

/// The package.
pub(super) fn module() -> Module {
    let mut module = exported_module!(functions);
    // The engine calls the function of the exact type before one that takes anything.
    print::<ImmutableString>(&mut module);
    print::<Dynamic>(&mut module);
    print::<Array>(&mut module);
    print::<Blob>(&mut module);
    print::<Map>(&mut module);
    print::<bool>(&mut module);
    print::<char>(&mut module);
    print::<f64>(&mut module);
    print::<i64>(&mut module);
    print::<()>(&mut module);
    module
}

#[export_module]
mod functions {
    /// Writes a debug message to the role's log, with the custom resource's reference.
    ///
    /// - `message`: what to say.
    /// - `values`: optional: a map of values beside it.
    ///
    /// Values that came from Secrets are redacted.
    ///
    /// ```rhai,no_run
    /// log_debug("parameters", vars);
    /// ```
    #[rhai_fn(name = "log_debug", volatile, return_raw)]
    pub fn log_debug(cx: NativeCallContext, message: Dynamic) -> HostResult<()> {
        write_log(&cx, Level::DEBUG, &message, None)
    }

    #[rhai_fn(name = "log_debug", volatile, return_raw)]
    pub fn log_debug_with(cx: NativeCallContext, message: Dynamic, values: Map) -> HostResult<()> {
        write_log(&cx, Level::DEBUG, &message, Some(values))
    }

    /// Writes a message to the role's log.
    ///
    /// - `message`: what to say.
    /// - `values`: optional: a map of values beside it.
    ///
    /// ```rhai,no_run
    /// log_info(`scaled to ${spec.replicas}`);
    /// ```
    #[rhai_fn(name = "log_info", volatile, return_raw)]
    pub fn log_info(cx: NativeCallContext, message: Dynamic) -> HostResult<()> {
        write_log(&cx, Level::INFO, &message, None)
    }

    #[rhai_fn(name = "log_info", volatile, return_raw)]
    pub fn log_info_with(cx: NativeCallContext, message: Dynamic, values: Map) -> HostResult<()> {
        write_log(&cx, Level::INFO, &message, Some(values))
    }

    /// Writes a warning to the role's log.
    ///
    /// - `message`: what to say.
    /// - `values`: optional: a map of values beside it.
    ///
    /// ```rhai,no_run
    /// log_warn("the image has no digest", #{image: spec.image});
    /// ```
    #[rhai_fn(name = "log_warn", volatile, return_raw)]
    pub fn log_warn(cx: NativeCallContext, message: Dynamic) -> HostResult<()> {
        write_log(&cx, Level::WARN, &message, None)
    }

    #[rhai_fn(name = "log_warn", volatile, return_raw)]
    pub fn log_warn_with(cx: NativeCallContext, message: Dynamic, values: Map) -> HostResult<()> {
        write_log(&cx, Level::WARN, &message, Some(values))
    }

    /// Writes an error to the role's log. The run continues; `fail` ends it.
    ///
    /// - `message`: what to say.
    /// - `values`: optional: a map of values beside it.
    ///
    /// ```rhai,no_run
    /// log_error("the backup failed", #{job: "nightly"});
    /// ```
    #[rhai_fn(name = "log_error", volatile, return_raw)]
    pub fn log_error(cx: NativeCallContext, message: Dynamic) -> HostResult<()> {
        write_log(&cx, Level::ERROR, &message, None)
    }

    #[rhai_fn(name = "log_error", volatile, return_raw)]
    pub fn log_error_with(cx: NativeCallContext, message: Dynamic, values: Map) -> HostResult<()> {
        write_log(&cx, Level::ERROR, &message, Some(values))
    }
}

/// Registers `print` for a type. The engine wants a text back, which it would write to stdout.
fn print<T: Variant + Clone>(module: &mut Module) {
    FuncRegistration::new("print")
        .with_volatility(true)
        .with_comments([
            "/// Writes a value to the role's log, like `log_info`.",
            "///",
            "/// - `value`: any value.",
            "///",
            "/// ```rhai,no_run",
            "/// print(spec);",
            "/// ```",
        ])
        .with_params_info(["value: Dynamic", "()"])
        .set_into_module(
            module,
            |cx: NativeCallContext<'_>, value: T| -> HostResult<ImmutableString> {
                write_log(&cx, Level::INFO, &Dynamic::from(value), None)?;
                Ok(ImmutableString::new())
            },
        );
}

fn write_log(
    cx: &NativeCallContext,
    level: Level,
    message: &Dynamic,
    values: Option<Map>,
) -> HostResult<()> {
    let session = Session::from_call(cx)?;
    let setup = &session.setup;
    let message = setup.redactor.public(message);
    let values = match values {
        None => None,
        Some(values) => {
            let mut values = arguments::json(&values.into())?;
            setup.redactor.value(&mut values);
            Some(setup.redactor.public(&values))
        }
    };
    let (cr, role) = (&setup.owner.cr, setup.redactor.public(&session.role().name));
    // The level of an event is part of its place in the code, hence one place per level.
    macro_rules! event {
        ($level:expr) => {
            log::event!(target: TARGET, $level, message, "object.ref" = *cr, role = role, values = values)
        };
    }
    match level {
        Level::ERROR => event!(Level::ERROR),
        Level::WARN => event!(Level::WARN),
        Level::INFO => event!(Level::INFO),
        _ => event!(Level::DEBUG),
    }
    Ok(())
}
