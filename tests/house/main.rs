//! Rules of this house that no compiler checks. Each rule has a test that it can be broken.

mod dependencies;
mod files;
mod layers;
mod paths;
mod source;
