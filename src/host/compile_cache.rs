//! A small cache of compiled patterns and queries.
//!
//! Each thread has its own caches, so that runs do not wait for each other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use allocation_meter::Measurement;

/// The maximum number of values. A role typically uses a few patterns.
const CAPACITY: usize = 64;

/// The maximum bytes of all values of one cache, measured at their creation.
const MAX_BYTES: usize = 4 << 20;

/// A cache of values that are compiled from texts. A full cache is emptied.
///
/// The memory of a value counts for the run that compiled it. Emptying the cache counts for no run.
pub(crate) struct CompileCache<T>(RefCell<Compiled<T>>);

struct Compiled<T> {
    values: HashMap<String, Rc<T>>,
    bytes: usize,
}

impl<T> CompileCache<T> {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        Self(RefCell::new(Compiled {
            values: HashMap::new(),
            bytes: 0,
        }))
    }

    /// Returns the compiled value of a text, from the cache if possible. Failures are not cached.
    pub(crate) fn get<E>(
        &self,
        text: &str,
        compile: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Rc<T>, E> {
        if let Some(known) = self.0.borrow().values.get(text) {
            return Ok(Rc::clone(known));
        }
        let measurement = Measurement::start();
        let made = Rc::new(compile(text)?);
        let bytes = measurement.live().saturating_add(text.len());
        let mut known = self.0.borrow_mut();
        if known.values.len() >= CAPACITY || known.bytes.saturating_add(bytes) > MAX_BYTES {
            allocation_meter::uncounted(|| known.values.clear());
            known.bytes = 0;
        }
        known.bytes += bytes;
        known.values.insert(text.to_owned(), Rc::clone(&made));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_text_is_compiled_once() {
        let memo = CompileCache::new();
        let first = memo.get("a", |text| Ok::<_, Infallible>(text.len()));
        let second = memo.get("a", |_| Err("compiled again"));
        assert_eq!((first.as_deref(), second.as_deref()), (Ok(&1), Ok(&1)));
    }

    #[test]
    fn it_does_not_grow_without_bound() {
        let memo = CompileCache::new();
        for n in 0..10 * CAPACITY {
            let _ = memo.get(&n.to_string(), |_| Ok::<_, Infallible>(vec![0_u8; n % 2]));
        }
        assert!(memo.0.borrow().values.len() <= CAPACITY);
        for n in 0..CAPACITY {
            let made = memo.get(&n.to_string(), |_| {
                Ok::<_, Infallible>(vec![0_u8; MAX_BYTES / 3])
            });
            let _ = made;
        }
        assert!(memo.0.borrow().bytes <= MAX_BYTES);
        assert!(memo.0.borrow().values.len() < 3);
    }
}
