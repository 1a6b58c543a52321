//! Events about custom resources, before they are sent.

use crate::model::{Object, ObjectRef, PublicText};

/// The namespace of Events about cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";

/// An Event about a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    /// The custom resource.
    pub(crate) regarding: ObjectRef,
    /// The uid of the custom resource.
    pub(crate) uid: Box<str>,
    /// True for the type `Warning`, false for `Normal`.
    pub(crate) warning: bool,
    /// The reason: one `CamelCase` word.
    pub(crate) reason: PublicText,
    /// The note for the user.
    pub(crate) note: PublicText,
}

impl Event {
    /// Creates an Event of type `Normal`.
    pub(crate) fn normal(cr: &Object, reason: &'static str, note: impl Into<PublicText>) -> Self {
        Self {
            regarding: cr.object_ref(),
            uid: cr.uid.clone(),
            warning: false,
            reason: reason.into(),
            note: note.into(),
        }
    }

    /// Creates an Event of type `Warning`.
    pub(crate) fn warning(cr: &Object, reason: &'static str, note: impl Into<PublicText>) -> Self {
        Self {
            warning: true,
            ..Self::normal(cr, reason, note)
        }
    }

    /// Returns the namespace of the Event.
    pub(super) fn namespace(&self) -> &str {
        self.regarding
            .namespace
            .as_deref()
            .unwrap_or(DEFAULT_NAMESPACE)
    }
}
