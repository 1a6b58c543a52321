//! Limits the managers with the operation `Update` to ten, and merges the oldest ones.

use super::managers::{Entry, Identity, Managers, seconds};

/// The maximum number of managers with the operation `Update`, like `DefaultMaxUpdateManagers` of
/// apimachinery.
const MAX_UPDATERS: usize = 10;
/// The manager that owns the fields of merged managers.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest entries of one version until at most ten are left.
pub(super) fn cap(managers: &mut Managers) {
    let updaters = managers.0.iter().filter(|entry| !entry.id.applies);
    let mut oldest: Vec<Entry> = updaters.cloned().collect();
    let mut count = oldest.len();
    if count <= MAX_UPDATERS {
        return;
    }
    oldest.sort_by_cached_key(|entry| (seconds(entry), entry.id.key()));
    let mut first_of: Vec<(String, Identity)> = Vec::new();
    for entry in oldest {
        if count <= MAX_UPDATERS {
            return;
        }
        let known = first_of
            .iter()
            .find(|(version, _)| *version == entry.api_version);
        let Some((_, first)) = known else {
            first_of.push((entry.api_version.clone(), entry.id));
            continue;
        };
        let bucket = Identity::new(ANCIENT, false, &entry.api_version, "");
        if managers.get(&bucket).is_none()
            && let Some(mut moved) = managers.take(first)
        {
            moved.id = bucket.clone();
            managers.0.push(moved);
        }
        if entry.id != bucket {
            managers.take(&entry.id);
        }
        if let Some(bucket) = managers.get_mut(&bucket) {
            bucket.set = entry.set.union(&bucket.set);
            bucket.time = entry.time;
        }
        count -= 1;
    }
}
