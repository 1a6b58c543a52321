//! The way to a value, as go-openapi writes it; a string only once there is something to tell.

use std::fmt;

/// A path, linked from its end to the root.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    /// The value itself; empty.
    Root,
    /// A property that the schema names.
    Property(&'a Self, &'a str),
    /// Any other key: a dot stands before it even at the root.
    Key(&'a Self, &'a str),
    /// An item of a list.
    Index(&'a Self, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Property(Self::Root, name) => f.write_str(name),
            Self::Property(parent, name) | Self::Key(parent, name) => {
                write!(f, "{parent}.{name}")
            }
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
