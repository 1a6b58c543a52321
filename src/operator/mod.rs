//! One process: build, run, shut down.
