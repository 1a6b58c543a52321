//! Values that a log event or a span accepts as a field.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::Duration;

use tracing::Value;
use tracing::field;

use super::PublicText;
use crate::model::{Gvk, ObjectRef, Reason};

/// A value that contains no text from outside the process, except names of objects and kinds.
///
/// Other texts are [`PublicText`], which a redactor makes. There is no implementation for `String` and
/// `&str`, and none for errors, because they quote data.
pub(crate) trait LogField {
    /// Returns the value as a field.
    fn field(&self) -> impl Value + '_;
}

macro_rules! as_itself {
    ($($type:ty),*) => { $(impl LogField for $type {
        fn field(&self) -> impl Value + '_ {
            *self
        }
    })* };
}

macro_rules! as_text {
    ($($type:ty),*) => { $(impl LogField for $type {
        fn field(&self) -> impl Value + '_ {
            field::display(self)
        }
    })* };
}

as_itself!(bool, u32, u64, usize, &'static str);
as_text!(PublicText, ObjectRef, Gvk, Reason, SocketAddr);

impl LogField for Duration {
    fn field(&self) -> impl Value + '_ {
        field::debug(self)
    }
}

impl<T: LogField> LogField for Option<T> {
    fn field(&self) -> impl Value + '_ {
        self.as_ref().map(LogField::field)
    }
}

/// A word from the code: the name of a variant without fields.
#[derive(Clone, Copy)]
pub(crate) struct VariantName<T>(pub T);

impl<T: Debug + Copy> LogField for VariantName<T> {
    fn field(&self) -> impl Value + '_ {
        field::debug(&self.0)
    }
}
