//! The order of the items of a merged list: first the order of the patch, then that of the live list.

use serde_json::Value;

/// The identity of a list's items: their merge key, or the items themselves.
#[derive(Clone, Copy)]
pub(super) struct Key<'a>(pub(super) Option<&'a str>);

impl Key<'_> {
    pub(super) fn key_of(self, item: &Value) -> &Value {
        match self.0 {
            Some(key) => &item[key],
            None => item,
        }
    }

    pub(super) fn position(self, items: &[Value], item: &Value) -> Option<usize> {
        let wanted = self.key_of(item);
        items.iter().position(|known| self.key_of(known) == wanted)
    }
}

/// Sorts a merged list. Items of the patch have the order of the patch, and the others that of the live list.
pub(super) fn ordered(
    merged: Vec<Value>,
    patch: &[Value],
    live: &[Value],
    key: Key<'_>,
) -> Vec<Value> {
    let (mut patched, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| key.position(patch, item).is_some());
    sort(&mut patched, patch, key);
    sort(&mut others, live, key);
    interleave(others, patched, live, key)
}

/// Sorts like Go's stable sort of short lists. The comparison is not a total order: unknown items come first.
fn sort(items: &mut [Value], order: &[Value], key: Key<'_>) {
    let is_less =
        |one: &Value, other: &Value| match (key.position(order, one), key.position(order, other)) {
            (Some(one), Some(other)) => one < other,
            _ => true,
        };
    for sorted in 1..items.len() {
        let mut place = sorted;
        while place > 0 && is_less(&items[place], &items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// Merges two lists: each item of `left` comes before the first item of `right` that follows it in the live
/// list.
fn interleave(left: Vec<Value>, right: Vec<Value>, live: &[Value], key: Key<'_>) -> Vec<Value> {
    let mut all = Vec::with_capacity(left.len() + right.len());
    let mut left = left.into_iter().peekable();
    for item in right {
        while let Some(other) = left.peek() {
            match (key.position(live, other), key.position(live, &item)) {
                (Some(one), Some(two)) if one < two => all.extend(left.next()),
                _ => break,
            }
        }
        all.push(item);
    }
    all.extend(left);
    all
}
