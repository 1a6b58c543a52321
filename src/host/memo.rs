//! A small cache of what is costly to compile from a script's text: patterns, queries.
//!
//! One per thread and kind, so that runs do not wait for each other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A role has a handful of patterns; a hundred times that is still a few MB at most.
const CAPACITY: usize = 256;

/// Values compiled from texts, forgotten all at once when there are too many.
pub(crate) struct Memo<T>(RefCell<HashMap<String, Rc<T>>>);

impl<T> Memo<T> {
    /// An empty cache.
    pub(crate) fn new() -> Self {
        Self(RefCell::new(HashMap::new()))
    }

    /// The value of a text, made at its first use. Failures are not kept.
    pub(crate) fn get<E>(
        &self,
        text: &str,
        compile: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Rc<T>, E> {
        if let Some(known) = self.0.borrow().get(text) {
            return Ok(Rc::clone(known));
        }
        let made = Rc::new(compile(text)?);
        let mut known = self.0.borrow_mut();
        if known.len() >= CAPACITY {
            known.clear();
        }
        known.insert(text.to_owned(), Rc::clone(&made));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_text_is_compiled_once() {
        let memo = Memo::new();
        let first = memo.get("a", |text| Ok::<_, Infallible>(text.len()));
        let second = memo.get("a", |_| Err("compiled again"));
        assert_eq!((first.as_deref(), second.as_deref()), (Ok(&1), Ok(&1)));
    }

    #[test]
    fn it_does_not_grow_without_bound() {
        let memo = Memo::new();
        for n in 0..10 * CAPACITY {
            let _ = memo.get(&n.to_string(), |_| Ok::<_, Infallible>(n));
        }
        assert!(memo.0.borrow().len() <= CAPACITY);
    }
}
