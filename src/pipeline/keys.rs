//! The keys of a pipeline file, and keys of other tools with the hint what to write instead.

use crate::model::diagnostics::Keys;

/// The keys of a step, its actions first.
const ALL: [&str; 24] = [
    "apply",
    "delete",
    "script",
    "role",
    "include",
    "status",
    "condition",
    "event",
    "assert",
    "fail",
    "block",
    "rescue",
    "always",
    "name",
    "when",
    "loop",
    "register",
    "needs",
    "ready",
    "until",
    "timeout",
    "retries",
    "vars",
    "tags",
];

/// The keys that are actions. A step has exactly one.
pub(super) const ACTIONS: &[&str] = ALL.split_at(11).0;

/// The keys of a step.
pub(super) const STEP: Keys = Keys {
    known: &ALL,
    refused: FOREIGN,
};

/// Keys of Ansible, kro and workflow engines: the error and the hint for each.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("k8s", "k8s is an Ansible module", "write apply or delete"),
    (
        "kubernetes.core.k8s",
        "kubernetes.core.k8s is an Ansible module",
        "write apply or delete",
    ),
    (
        "k8s_info",
        "k8s_info is an Ansible module",
        "write script: k8s_get(apiVersion, kind, name)",
    ),
    (
        "kubernetes.core.k8s_info",
        "kubernetes.core.k8s_info is an Ansible module",
        "write script: k8s_get(apiVersion, kind, name)",
    ),
    (
        "k8s_status",
        "k8s_status is an Ansible module",
        "write status",
    ),
    (
        "operator_sdk.util.k8s_status",
        "operator_sdk.util.k8s_status is an Ansible module",
        "write status",
    ),
    (
        "set_fact",
        "set_fact is an Ansible module",
        "write name: x and script: EXPRESSION, and read results.x in other steps",
    ),
    (
        "debug",
        "debug is an Ansible module",
        "write script: log_info(…)",
    ),
    (
        "template",
        "template is an Ansible module",
        "write apply: {template: FILE}",
    ),
    (
        "include_tasks",
        "include_tasks is an Ansible keyword",
        "write include: FILE",
    ),
    (
        "import_tasks",
        "import_tasks is an Ansible keyword",
        "write include: FILE",
    ),
    (
        "include_role",
        "include_role is an Ansible keyword",
        "write role: NAME",
    ),
    (
        "import_role",
        "import_role is an Ansible keyword",
        "write role: NAME",
    ),
    (
        "with_items",
        "with_items is an Ansible keyword",
        "write loop",
    ),
    (
        "with_dict",
        "with_dict is an Ansible keyword",
        "write loop: the items of a map have key and value",
    ),
    (
        "loop_control",
        "loop_control is an Ansible keyword",
        "remove it and read `item`; in an inner loop, keep the outer item with vars",
    ),
    (
        "delay",
        "delay is an Ansible keyword",
        "remove it: the role runs again when an object that `until` read changes",
    ),
    (
        "ignore_errors",
        "ignore_errors is an Ansible keyword",
        "write block: [STEP] and rescue: []",
    ),
    (
        "failed_when",
        "failed_when is an Ansible keyword",
        "add an assert step after it",
    ),
    (
        "changed_when",
        "changed_when is an Ansible keyword",
        "remove it: the operator detects changes",
    ),
    (
        "notify",
        "notify is an Ansible keyword",
        "write a step: it sends nothing if nothing changed",
    ),
    ("become", "become is an Ansible keyword", "remove it"),
    (
        "dependsOn",
        "dependsOn is not a key of steps",
        "write needs: [STEP]",
    ),
    (
        "depends",
        "depends is not a key of steps",
        "write needs: [STEP]",
    ),
    (
        "dependencies",
        "dependencies is not a key of steps",
        "write needs: [STEP]",
    ),
    (
        "readyWhen",
        "readyWhen is a kro keyword",
        "write ready: EXPRESSION",
    ),
    (
        "includeWhen",
        "includeWhen is a kro keyword",
        "write when: EXPRESSION",
    ),
    (
        "forEach",
        "forEach is a kro keyword",
        "write loop: EXPRESSION",
    ),
];

/// The keys of an `apply` that is not itself a manifest.
pub(super) const APPLY: Keys = Keys {
    known: &[
        "manifest", "file", "template", "vars", "owner", "force", "adopt", "recreate",
    ],
    refused: &[
        (
            "definition",
            "definition is an Ansible keyword",
            "write manifest",
        ),
        ("src", "src is an Ansible keyword", "write file"),
        (
            "state",
            "state is an Ansible keyword",
            "remove it; to delete an object, write a step with delete",
        ),
        (
            "wait",
            "wait is an Ansible keyword",
            "write ready: true as a key of the step",
        ),
    ],
};

/// The keys of a `delete`.
pub(super) const DELETE: Keys = Keys {
    known: &[
        "apiVersion",
        "kind",
        "name",
        "namespace",
        "metadata",
        "propagation",
    ],
    refused: &[],
};

/// The keys of a `script` that is a map.
pub(super) const SCRIPT: Keys = Keys {
    known: &["file"],
    refused: &[],
};

/// The keys of an `include` that is a map.
pub(super) const INCLUDE: Keys = SCRIPT;

/// The keys of a `role` that is a map.
pub(super) const ROLE: Keys = Keys {
    known: &["name", "vars"],
    refused: &[],
};

/// The keys of a `condition`.
pub(super) const CONDITION: Keys = Keys {
    known: &["type", "status", "reason", "message"],
    refused: &[],
};

/// The keys of an `event`.
pub(super) const EVENT: Keys = Keys {
    known: &["type", "reason", "message"],
    refused: &[],
};

/// The keys of an `assert` that is a map.
pub(super) const ASSERT: Keys = Keys {
    known: &["that", "message"],
    refused: &[
        (
            "fail_msg",
            "fail_msg is an Ansible keyword",
            "write message",
        ),
        ("msg", "msg is an Ansible keyword", "write message"),
        (
            "success_msg",
            "success_msg is an Ansible keyword",
            "remove it",
        ),
    ],
};

/// The keys of a `fail` that is a map.
pub(super) const FAIL: Keys = Keys {
    known: &["message"],
    refused: &[("msg", "msg is an Ansible keyword", "write message")],
};
