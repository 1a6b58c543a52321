//! Positions of calls of host functions.

use rhai::{NativeCallContext, Position};

/// The position of a call of a host function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallSite {
    pub(super) file: Option<String>,
    pub(super) position: Position,
}

impl CallSite {
    /// Returns the position of the current call.
    pub(super) fn from_call(cx: &NativeCallContext) -> Self {
        Self {
            file: cx.call_source().map(str::to_owned),
            position: cx.call_position(),
        }
    }
}
