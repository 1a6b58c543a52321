//! The process's own HTTP servers: metrics, health, readiness.
