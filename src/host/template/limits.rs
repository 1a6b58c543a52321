//! Limits of the values of a rendering and of its output.

use std::cell::Cell;
use std::fmt::{self, Write as _};

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use crate::model::json::MAX_NESTING;
use crate::script;

/// The maximum number of instructions of a rendering: ten thousand objects of a hundred values each.
pub(super) const FUEL: u64 = 1_000_000;

/// The maximum size of a value, and of the output of a rendering: ten times the largest set of objects that
/// we know of.
pub(super) const MAX_VALUE: usize = 16 << 20;

/// The size of an item of a list or a map, without its content.
pub(super) const ITEM: usize = 24;

thread_local! {
    /// Bytes that the rendering on this thread has written, also into variables.
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
}

/// Begins a rendering on this thread.
pub(super) fn begin() {
    WRITTEN.set(0);
}

/// Counts a value that is about to be written, whether to the output or to a variable
/// (`{% set x %}…{% endset %}`, a macro).
pub(super) fn write(value: &Value) -> Result<(), Error> {
    checkpoint()?;
    let written = WRITTEN.get().saturating_add(weigh(value)?);
    if written > MAX_VALUE {
        return Err(Error::from(ErrorKind::WriteFailure));
    }
    WRITTEN.set(written);
    Ok(())
}

/// Fails where the run of this thread must end.
pub(super) fn checkpoint() -> Result<(), Error> {
    script::checkpoint().map_err(|_| refuse("the run must end"))
}

/// Refuses a value of so many bytes if it is too large.
pub(super) fn fits(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_VALUE {
        return Err(too_large());
    }
    Ok(())
}

/// Returns the error of a value that is too large.
pub(super) fn too_large() -> Error {
    refuse(format!("value of more than {} MiB", MAX_VALUE >> 20))
}

/// Returns an error of a rendering.
pub(super) fn refuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// Returns about how many bytes a value has as a text; refuses one that is too large or too deep, or has
/// a namespace in it.
pub(super) fn weigh(value: &Value) -> Result<usize, Error> {
    let mut weight = 0;
    add_weight(value, 0, &mut weight)?;
    Ok(weight)
}

fn add_weight(value: &Value, depth: usize, weight: &mut usize) -> Result<(), Error> {
    if let Some(text) = value.as_str() {
        *weight += text.len();
        return fits(*weight);
    }
    *weight += ITEM;
    if depth > MAX_NESTING {
        return Err(refuse(format!("value of more than {MAX_NESTING} levels")));
    }
    match value.kind() {
        ValueKind::Bytes => *weight += value.len().unwrap_or_default(),
        // It is the only value that changes: a value could contain itself.
        ValueKind::Map if depth > 0 && is_namespace(value) => {
            return Err(refuse("a namespace cannot be part of another value"));
        }
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                add_weight(&item, depth + 1, weight)?;
            }
        }
        ValueKind::Map => {
            for key in value.try_iter()? {
                add_weight(&key, depth + 1, weight)?;
                add_weight(&value.get_item(&key)?, depth + 1, weight)?;
            }
        }
        _ => {}
    }
    fits(*weight)
}

/// Returns whether a value is a namespace: it is the only value that a template can change.
pub(super) fn is_namespace(value: &Value) -> bool {
    let object = value.as_object();
    object.is_some_and(|it| it.type_name().ends_with("::Namespace"))
}

/// Writes a text of bounded length.
pub(super) fn text(arguments: fmt::Arguments<'_>) -> Result<String, Error> {
    struct Bounded(String);
    impl fmt::Write for Bounded {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            if self.0.len() + part.len() > MAX_VALUE {
                return Err(fmt::Error);
            }
            self.0.push_str(part);
            Ok(())
        }
    }
    let mut text = Bounded(String::new());
    match text.write_fmt(arguments) {
        Ok(()) => Ok(text.0),
        Err(fmt::Error) => Err(too_large()),
    }
}

/// Returns the number of parts into which a text is split.
pub(super) fn parts(text: &str, separator: Option<&str>) -> usize {
    match separator {
        Some(separator) => text.matches(separator).count() + 1,
        None => text.split_whitespace().count(),
    }
}

/// Refuses a split of a text into too many parts.
pub(super) fn fits_split(text: &str, separator: Option<&str>) -> Result<(), Error> {
    fits(parts(text, separator).saturating_mul(ITEM))
}

/// Returns the maximum length of a text after a replacement of texts of lengths.
pub(super) fn replaced(text: &str, from: usize, to: usize) -> usize {
    // An empty text is found between all characters.
    let most = (text.len() / from.max(1) + 1).saturating_mul(to);
    text.len().saturating_add(most)
}
