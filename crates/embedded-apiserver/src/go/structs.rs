//! Formats objects like structs of Go, with the fields in the order of their declaration. JSON values of this
//! crate do not keep that order.
//!
//! Only metadata and security contexts need this. Messages show all other values as maps with sorted keys.

use serde_json::{Map, Value};

use super::json::json;

/// The fields of `metav1.ObjectMeta`.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// The fields of `metav1.OwnerReference`.
const OWNER: [&str; 6] = [
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
];

/// The fields of `metav1.ManagedFieldsEntry`.
const MANAGED: [&str; 7] = [
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
];

/// The fields of the internal `core.SecurityContext`. Its null fields are printed.
const SECURITY: [&str; 12] = [
    "Capabilities",
    "Privileged",
    "SELinuxOptions",
    "WindowsOptions",
    "RunAsUser",
    "RunAsGroup",
    "RunAsNonRoot",
    "ReadOnlyRootFilesystem",
    "AllowPrivilegeEscalation",
    "ProcMount",
    "SeccompProfile",
    "AppArmorProfile",
];

/// Formats an object of a built-in kind. Its metadata is formatted like a Go struct.
pub(crate) fn object(object: &Value) -> String {
    match object {
        Value::Object(fields) => braced(fields.iter().map(|(name, value)| {
            let value = match name.as_str() {
                "metadata" => metadata(value),
                _ => json(value),
            };
            (name.as_str(), value)
        })),
        other => json(other),
    }
}

/// Formats owner references.
pub(crate) fn owners(owners: &Value) -> String {
    list(owners, &OWNER)
}

/// Formats the security context of a container.
pub(crate) fn security_context(context: &Value) -> String {
    let field = |name: &'static str| {
        let mut key = name.to_owned();
        // The names in JSON begin with lower case: `seLinuxOptions`, `runAsUser`.
        let first = if name.starts_with("SE") { 2 } else { 1 };
        key[..first].make_ascii_lowercase();
        (name, json(&context[key]))
    };
    braced(SECURITY.into_iter().map(field))
}

fn metadata(value: &Value) -> String {
    match value {
        Value::Object(fields) => ordered(fields, &METADATA, |name, value| match name {
            "ownerReferences" => owners(value),
            "managedFields" => list(value, &MANAGED),
            _ => json(value),
        }),
        other => json(other),
    }
}

fn list(items: &Value, order: &[&str]) -> String {
    let Some(items) = items.as_array() else {
        return json(items);
    };
    let items = items.iter().map(|item| match item {
        Value::Object(fields) => ordered(fields, order, |_, value| json(value)),
        other => json(other),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// Formats the fields in the given order. Fields that `order` does not contain come last.
fn ordered(
    fields: &Map<String, Value>,
    order: &[&str],
    write: impl Fn(&str, &Value) -> String,
) -> String {
    let known = order.iter().filter_map(|name| fields.get_key_value(*name));
    let unknown = fields
        .iter()
        .filter(|(name, _)| !order.contains(&name.as_str()));
    let all = known.chain(unknown);
    braced(all.map(|(name, value)| (name.as_str(), write(name, value))))
}

fn braced<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields = fields.map(|(name, value)| format!("{}:{value}", json(&name.into())));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_in_the_order_of_the_struct() {
        let value = json!({
            "kind": "ConfigMap",
            "data": {"b": "<", "a": "x"},
            "metadata": {
                "managedFields": [{"apiVersion": "v1", "manager": "m", "operation": "Update"}],
                "creationTimestamp": "t",
                "name": "a",
                "uid": "u",
                "zz": 1,
            },
        });
        let wanted = concat!(
            r#"{"data":{"a":"x","b":"\u003c"},"kind":"ConfigMap","metadata":{"name":"a","uid":"u","#,
            r#""creationTimestamp":"t","#,
            r#""managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1"}],"zz":1}}"#,
        );
        assert_eq!(object(&value), wanted);
    }

    #[test]
    fn owners_are_in_the_order_of_the_struct() {
        let value =
            json!([{"controller": true, "uid": "u", "name": "n", "kind": "K", "apiVersion": "v1"}]);
        let wanted = r#"[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":true}]"#;
        assert_eq!(owners(&value), wanted);
    }
}
