//! The path of a value in the format of go-openapi. It becomes a string only when a failure is reported.

use std::fmt;

/// A path, linked from its end to the root.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    /// The value itself, which has an empty path.
    Root,
    /// A property in the schema.
    Property(&'a Self, &'a str),
    /// Any other key, which has a leading dot even at the root.
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
