//! When to run: queue, triggers, periods, backoff.
