//! One run as host functions see it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use tokio::runtime::Handle;

/// Constants that a program sees everywhere, modules included.
pub type Variables = BTreeMap<&'static str, Dynamic>;

/// The run that a host function was called by.
pub struct Run {
    state: Arc<dyn Any + Send + Sync>,
    runtime: Handle,
}

impl Run {
    /// The run of a call; an error when the engine is used without a [`super::Pool`].
    pub fn of(cx: &NativeCallContext) -> Result<Arc<Self>, Box<EvalAltResult>> {
        cx.tag()
            .and_then(|tag| tag.clone().try_cast::<Arc<Self>>())
            .ok_or_else(|| "called outside a run".into())
    }

    /// What the job carries for its host functions.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.state.clone().downcast().ok()
    }

    /// The runtime of the host calls.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
