//! Golden tests: each folder of `tests/pipelines/` is a role, and what is wrong with it is written down.
