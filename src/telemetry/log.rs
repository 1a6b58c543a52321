//! Log events and spans whose fields cannot contain data from outside.
//!
//! `log::warn!("cannot renew the lease", error = error, lease = name)`: the message is a literal or a
//! [`PublicText`], and each field is a [`LogField`]. Code outside of this module uses no macro of `tracing`, so
//! that no log line can contain the value of a Secret. `tests/house/logging.rs` checks it.
//!
//! [`PublicText`]: crate::model::redact::PublicText
//! [`LogField`]: crate::model::redact::LogField

/// Writes an event of a level, with a target if one is given.
macro_rules! event {
    (target: $target:expr, $level:expr, $message:expr $(, $key:tt = $value:expr)* $(,)?) => {
        tracing::event!(
            target: $target,
            $level,
            $($key = $crate::model::redact::LogField::field(&$value),)*
            "{}",
            $crate::model::redact::PublicText::from($message)
        )
    };
    ($level:expr, $($event:tt)+) => {
        $crate::telemetry::log::event!(target: module_path!(), $level, $($event)+)
    };
}

/// Writes an error.
macro_rules! error {
    ($($event:tt)+) => { $crate::telemetry::log::event!(tracing::Level::ERROR, $($event)+) };
}

/// Writes a warning.
macro_rules! warning {
    ($($event:tt)+) => { $crate::telemetry::log::event!(tracing::Level::WARN, $($event)+) };
}

/// Writes an event of level `info`.
macro_rules! info {
    ($($event:tt)+) => { $crate::telemetry::log::event!(tracing::Level::INFO, $($event)+) };
}

/// Writes an event of level `debug`.
macro_rules! debug {
    ($($event:tt)+) => { $crate::telemetry::log::event!(tracing::Level::DEBUG, $($event)+) };
}

/// Makes a span of level `info`.
macro_rules! span {
    ($name:literal $(, $key:tt = $value:expr)* $(,)?) => {
        tracing::info_span!($name $(, $key = $crate::model::redact::LogField::field(&$value))*)
    };
}

// A macro cannot be called `warn` where it is defined: that is an attribute.
pub(crate) use {debug, error, event, info, span, warning as warn};
