//! The order of versions: the most stable and newest first.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>

use std::cmp::{Ordering, Reverse};

/// Orders `v10`, `v2`, `v1`, `v11beta2`, `v10beta3`, `v3alpha1`, `foo1`, `foo10`.
pub fn by_priority(a: &str, b: &str) -> Ordering {
    match (parsed(a), parsed(b)) {
        (Some(a), Some(b)) => Reverse(a).cmp(&Reverse(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (2 is general availability), major and minor number.
fn parsed(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let major = number(&rest[..end])?;
    match &rest[end..] {
        "" => Some((2, major, 0)),
        rest => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => Some((1, major, number(minor)?)),
            (_, Some(minor)) => Some((0, major, number(minor)?)),
            _ => None,
        },
    }
}

fn number(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_and_new_versions_come_first() {
        let order = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
        ];
        let mut versions = order;
        versions.reverse();
        versions.sort_by(|a, b| by_priority(a, b));
        assert_eq!(versions, order);
    }
}
