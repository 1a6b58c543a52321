//! A cache of compiled patterns, which all servers of a process share.
//!
//! Definitions keep only the texts of their patterns. A definition of the maximum size can have more patterns
//! than fit into memory when they are compiled.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use regex::Regex;

/// The maximum number of states of all patterns in the cache. A state takes about 40 bytes.
const MAX_STATES: u64 = 1_000_000;
/// The states that a pattern counts at least. A search caches up to 256 KiB beside the pattern.
const LEAST_STATES: u64 = 1000;

#[derive(Default)]
struct Cache {
    patterns: HashMap<Arc<str>, Arc<Regex>>,
    states: u64,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

/// Returns the compiled pattern of a text. A full cache is emptied. Failures are not cached.
pub(super) fn get(
    text: &Arc<str>,
    states: u64,
    compile: impl FnOnce() -> Result<Regex, String>,
) -> Result<Arc<Regex>, String> {
    if let Some(known) = CACHE.lock().patterns.get(text) {
        return Ok(Arc::clone(known));
    }
    let regex = Arc::new(compile()?);
    let mut cache = CACHE.lock();
    let states = states.max(LEAST_STATES);
    if cache.states.saturating_add(states) > MAX_STATES {
        *cache = Cache::default();
    }
    cache.states = cache.states.saturating_add(states);
    cache.patterns.insert(Arc::clone(text), Arc::clone(&regex));
    Ok(regex)
}
