//! The order of versions: `v10`, `v2`, `v1`, `v11beta2`, `v1alpha1`, then all names of other forms.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>,
//! as implemented by `version.CompareKubeAwareVersionStrings` of apimachinery.

use std::cmp::{Ordering, Reverse};

use serde_json::Value;

use super::structural::list;

/// Returns the names of the served versions, the preferred one first.
pub(super) fn served(spec: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = list(spec, "versions")
        .filter(|version| version["served"] == true)
        .filter_map(|version| version["name"].as_str())
        .collect();
    names.sort_by(|left, right| compare(left, right));
    names
}

/// Compares two version names. The preferred one comes first.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    match (read(left), read(right)) {
        (Some(left), Some(right)) => Reverse(left).cmp(&Reverse(right)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Returns the stability (2 is stable), and the major and minor version. `v0` and `v1beta0` are valid
/// versions as well.
fn read(name: &str) -> Option<(u8, i64, i64)> {
    let rest = name.strip_prefix('v')?;
    let (stability, major, minor) = if let Some((major, minor)) = rest.split_once("alpha") {
        (0, major, minor)
    } else if let Some((major, minor)) = rest.split_once("beta") {
        (1, major, minor)
    } else {
        (2, rest, "0")
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    Some((stability, number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_and_number() {
        let mut names = vec![
            "foo10",
            "v1alpha1",
            "v11alpha2",
            "v3beta1",
            "v10beta3",
            "v12alpha1",
            "foo1",
            "v0",
            "v1",
            "v1beta",
            "v1beta0",
            "v",
            "v9223372036854775808",
            "v2",
            "v10",
            "v11beta2",
        ];
        names.sort_by(|left, right| compare(left, right));
        let wanted = [
            "v10",
            "v2",
            "v1",
            "v0",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v1beta0",
            "v12alpha1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
            "v",
            "v1beta",
            "v9223372036854775808",
        ];
        assert_eq!(names, wanted);
    }
}
