//! On what a test runs: a real Kubernetes, or the embedded API over TLS.

use std::fmt;

use super::supervisor;

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The one of `tests/kubernetes`.
    Real,
    /// The one of this crate, in this process.
    Embedded,
}

/// Something that there is one of on each ground.
pub(crate) struct OnEach<T> {
    pub(crate) real: T,
    pub(crate) embedded: T,
}

impl<T> OnEach<T> {
    /// That of a ground.
    pub(crate) const fn on(&self, ground: Ground) -> &T {
        match ground {
            Ground::Real => &self.real,
            Ground::Embedded => &self.embedded,
        }
    }
}

impl Ground {
    /// Why there is no such ground here, if so.
    pub(super) fn unavailable(self) -> Option<&'static str> {
        match self {
            Self::Real => supervisor::unavailable(),
            Self::Embedded => None,
        }
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Embedded => "embedded",
        })
    }
}
