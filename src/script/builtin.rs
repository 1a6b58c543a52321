//! Replacements for functions of Rhai's standard library that block the thread, that cannot be
//! interrupted, or that return a value where an error is right.

use std::mem;

use rhai::plugin::{Position, export_module};
use rhai::{
    Array, Dynamic, EvalAltResult, FnPtr, ImmutableString, Module, NativeCallContext, Shared,
};

type RhaiResult<T> = Result<T, Box<EvalAltResult>>;

/// Returns the module, to be registered after the standard library.
pub(super) fn module() -> Shared<Module> {
    rhai::exported_module!(functions).into()
}

#[expect(
    clippy::unwrap_used,
    reason = "what the macro writes: the engine gives every argument"
)]
#[export_module]
mod functions {
    /// Refused: a run that waits would hold its thread; see `wait_for`, `wait_ready`, `requeue`.
    #[rhai_fn(name = "sleep", volatile, return_raw)]
    pub(crate) fn sleep_seconds(_seconds: i64) -> RhaiResult<()> {
        Err(no_sleep())
    }

    /// Refused: a run that waits would hold its thread; see `wait_for`, `wait_ready`, `requeue`.
    #[rhai_fn(name = "sleep", volatile, return_raw)]
    pub(crate) fn sleep_fraction(_seconds: f64) -> RhaiResult<()> {
        Err(no_sleep())
    }

    /// Sorts by a function that compares two elements. It returns a negative number or `true` if its first
    /// argument comes first. Equal elements keep their order.
    #[rhai_fn(name = "sort", name = "sort_by", return_raw)]
    pub(crate) fn sort(cx: NativeCallContext, array: &mut Array, compare: FnPtr) -> RhaiResult<()> {
        *array = merge_sort(mem::take(array), &mut |a, b| {
            let answer = compare.call_raw(&cx, None, [b.clone(), a.clone()])?;
            if let Ok(first) = answer.as_bool() {
                return Ok(first);
            }
            let order = answer.as_int().map_err(|kind| {
                format!("the function to sort by must return a number or a bool, not {kind}")
            })?;
            Ok(order < 0)
        })?;
        Ok(())
    }

    /// Replaces every occurrence of a text; refused where the result would be too long.
    #[rhai_fn(name = "replace", return_raw)]
    pub(crate) fn replace(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        find: &str,
        substitute: &str,
    ) -> RhaiResult<()> {
        *text = replaced(&cx, text, find, substitute)?;
        Ok(())
    }

    /// Replaces every occurrence of a character; refused where the result would be too long.
    #[rhai_fn(name = "replace", return_raw)]
    pub(crate) fn replace_char(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        find: char,
        substitute: &str,
    ) -> RhaiResult<()> {
        *text = replaced(&cx, text, find.encode_utf8(&mut [0; 4]), substitute)?;
        Ok(())
    }

    /// Repeats a text at the end until there are `length` characters. The library's function never
    /// returns if that text is empty.
    #[rhai_fn(return_raw)]
    pub(crate) fn pad(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        length: i64,
        padding: &str,
    ) -> RhaiResult<()> {
        let present = text.chars().count();
        let missing = usize::try_from(length).unwrap_or(0).saturating_sub(present);
        if missing == 0 {
            return Ok(());
        }
        if padding.is_empty() {
            return Err("cannot pad a text with an empty text".into());
        }
        let room = cx.engine().max_string_size().saturating_sub(text.len());
        if missing > room {
            return Err(too_long());
        }
        let padding = padding.chars().cycle().take(missing);
        if padding.clone().map(char::len_utf8).sum::<usize>() > room {
            return Err(too_long());
        }
        text.make_mut().extend(padding);
        Ok(())
    }

    /// Returns the characters of a text; refused where they are too many.
    #[rhai_fn(return_raw)]
    pub(crate) fn to_chars(cx: NativeCallContext, text: &str) -> RhaiResult<Array> {
        collected(&cx, text.chars().map(Into::into))
    }

    /// Splits a text at white space; refused where the pieces are too many.
    #[rhai_fn(name = "split", pure, return_raw)]
    pub(crate) fn split_space(
        cx: NativeCallContext,
        text: &mut ImmutableString,
    ) -> RhaiResult<Array> {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        pieces(&cx, text.split_whitespace())
    }

    /// Splits a text at each delimiter; refused where the pieces are too many.
    #[rhai_fn(pure, return_raw)]
    pub(crate) fn split(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: &str,
    ) -> RhaiResult<Array> {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        pieces(&cx, text.split(delimiter))
    }

    /// Splits a text at the first delimiters; refused where the pieces are too many.
    #[rhai_fn(name = "split", pure, return_raw)]
    pub(crate) fn split_some(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: &str,
        segments: i64,
    ) -> RhaiResult<Array> {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        pieces(&cx, text.splitn(at_least_one(segments), delimiter))
    }

    #[rhai_fn(name = "split", pure, return_raw)]
    pub(crate) fn split_char(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: char,
    ) -> RhaiResult<Array> {
        pieces(&cx, text.split(delimiter))
    }

    #[rhai_fn(name = "split", pure, return_raw)]
    pub(crate) fn split_char_some(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: char,
        segments: i64,
    ) -> RhaiResult<Array> {
        pieces(&cx, text.splitn(at_least_one(segments), delimiter))
    }

    /// Splits a text at each delimiter, from its end; refused where the pieces are too many.
    #[rhai_fn(pure, return_raw)]
    pub(crate) fn split_rev(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: &str,
    ) -> RhaiResult<Array> {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        pieces(&cx, text.rsplit(delimiter))
    }

    #[rhai_fn(name = "split_rev", pure, return_raw)]
    pub(crate) fn split_rev_some(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: &str,
        segments: i64,
    ) -> RhaiResult<Array> {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        pieces(&cx, text.rsplitn(at_least_one(segments), delimiter))
    }

    #[rhai_fn(name = "split_rev", pure, return_raw)]
    pub(crate) fn split_rev_char(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: char,
    ) -> RhaiResult<Array> {
        pieces(&cx, text.rsplit(delimiter))
    }

    #[rhai_fn(name = "split_rev", pure, return_raw)]
    pub(crate) fn split_rev_char_some(
        cx: NativeCallContext,
        text: &mut ImmutableString,
        delimiter: char,
        segments: i64,
    ) -> RhaiResult<Array> {
        pieces(&cx, text.rsplitn(at_least_one(segments), delimiter))
    }

    #[rhai_fn(get = "tag", pure, return_raw)]
    pub(crate) fn get_tag(value: &mut Dynamic) -> RhaiResult<i64> {
        Err(no_tag(value))
    }

    #[rhai_fn(set = "tag", return_raw)]
    pub(crate) fn put_tag(value: &mut Dynamic, _tag: i64) -> RhaiResult<()> {
        Err(no_tag(value))
    }

    #[rhai_fn(pure, return_raw)]
    pub(crate) fn tag(value: &mut Dynamic) -> RhaiResult<i64> {
        Err(no_tag(value))
    }

    #[rhai_fn(return_raw)]
    pub(crate) fn set_tag(value: &mut Dynamic, _tag: i64) -> RhaiResult<()> {
        Err(no_tag(value))
    }
}

/// Collects values into an array. Fails at the first value beyond the limit, because the engine measures
/// an array only when it is complete.
fn collected(cx: &NativeCallContext, values: impl Iterator<Item = Dynamic>) -> RhaiResult<Array> {
    let most = cx.engine().max_array_size();
    let mut array = Array::new();
    for value in values {
        if array.len() == most {
            let what = "Size of array/BLOB".to_owned();
            return Err(EvalAltResult::ErrorDataTooLarge(what, Position::NONE).into());
        }
        array.push(value);
    }
    Ok(array)
}

fn pieces<'t>(cx: &NativeCallContext, texts: impl Iterator<Item = &'t str>) -> RhaiResult<Array> {
    collected(cx, texts.map(Into::into))
}

/// Returns the number of segments, at least one.
fn at_least_one(segments: i64) -> usize {
    usize::try_from(segments).unwrap_or(0).max(1)
}

/// Replaces a text within the limit. The engine measures a text only when it is complete, and that can
/// be too late for the memory of the process.
fn replaced(
    cx: &NativeCallContext,
    text: &str,
    find: &str,
    substitute: &str,
) -> RhaiResult<ImmutableString> {
    let added = text.matches(find).count().saturating_mul(substitute.len());
    if text.len().saturating_add(added) > cx.engine().max_string_size() {
        return Err(too_long());
    }
    Ok(text.replace(find, substitute).into())
}

/// Returns the engine's error about a text that exceeds the limit of one value.
fn too_long() -> Box<EvalAltResult> {
    let what = "Length of string".to_owned();
    EvalAltResult::ErrorDataTooLarge(what, Position::NONE).into()
}

fn no_sleep() -> Box<EvalAltResult> {
    "`sleep` is not available: use wait_ready(ref), wait_for(ref, path, value) or requeue(after)"
        .into()
}

/// Returns the engine's error for a property that a value does not have.
fn no_tag(value: &Dynamic) -> Box<EvalAltResult> {
    let kind = match value.type_name() {
        name if name.contains("String") => "string",
        name => name,
    };
    let text = format!("Unknown property 'tag' - a getter is not registered for type '{kind}'");
    Box::new(EvalAltResult::ErrorDotExpr(text, Position::NONE))
}

/// Sorts stably with a comparison that can fail. `later(a, b)` returns true if `b` belongs before `a`. An
/// inconsistent comparison results in some order.
fn merge_sort(
    mut array: Array,
    later: &mut dyn FnMut(&Dynamic, &Dynamic) -> RhaiResult<bool>,
) -> RhaiResult<Array> {
    if array.len() < 2 {
        return Ok(array);
    }
    let right = merge_sort(array.split_off(array.len() / 2), later)?;
    let left = merge_sort(array, later)?;
    let mut merged = Array::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if later(a, b)? {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}
