//! The environments that serve a test: a real Kubernetes, or the embedded API over TLS.

use std::fmt;

use crate::supervisor;

/// A kind of cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// The Kubernetes that `tests/kubernetes` builds and runs.
    Real,
    /// `embedded-apiserver`, in the process of the test.
    Embedded,
}

/// One value for each environment.
pub struct PerEnvironment<T> {
    /// The value for [`Environment::Real`].
    pub real: T,
    /// The value for [`Environment::Embedded`].
    pub embedded: T,
}

impl<T> PerEnvironment<T> {
    /// Returns the value for an environment.
    pub const fn get(&self, environment: Environment) -> &T {
        match environment {
            Environment::Real => &self.real,
            Environment::Embedded => &self.embedded,
        }
    }
}

impl Environment {
    /// Returns the reason if this machine cannot run the environment.
    pub fn unavailable(self) -> Option<&'static str> {
        match self {
            Self::Real => supervisor::unavailable(),
            Self::Embedded => None,
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Embedded => "embedded",
        })
    }
}
