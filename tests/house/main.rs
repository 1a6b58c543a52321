//! Rules of this repository that no compiler checks. Each rule has a test that shows that it finds a violation.

mod circles;
mod dependencies;
mod files;
mod imports;
mod language;
mod layers;
mod logging;
mod pages;
mod paths;
mod references;
mod rooms;
mod source;
