//! The words of a pipeline file, and what users of other tools write instead.

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

/// What a step can do; it does one of these.
pub(super) const ACTIONS: &[&str] = ALL.split_at(11).0;

/// The keys of a step.
pub(super) const STEP: Keys = Keys {
    known: &ALL,
    refused: FOREIGN,
};

/// Of Ansible's tasks and of workflows: what is wrong with each, and what to do instead.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("k8s", "k8s is a module of Ansible", "write apply or delete"),
    (
        "kubernetes.core.k8s",
        "kubernetes.core.k8s is a module of Ansible",
        "write apply or delete",
    ),
    (
        "k8s_info",
        "k8s_info is a module of Ansible",
        "write script: k8s_get(apiVersion, kind, name)",
    ),
    (
        "kubernetes.core.k8s_info",
        "kubernetes.core.k8s_info is a module of Ansible",
        "write script: k8s_get(apiVersion, kind, name)",
    ),
    (
        "k8s_status",
        "k8s_status is a module of Ansible",
        "write status",
    ),
    (
        "operator_sdk.util.k8s_status",
        "operator_sdk.util.k8s_status is a module of Ansible",
        "write status",
    ),
    (
        "set_fact",
        "facts are the results of steps here",
        "write name: x and script: EXPRESSION; other steps read results.x",
    ),
    (
        "debug",
        "debug is a module of Ansible",
        "write script: log_info(…)",
    ),
    (
        "template",
        "a template is applied by an apply",
        "write apply: {template: FILE}",
    ),
    (
        "include_tasks",
        "include_tasks is Ansible's word",
        "write include: FILE",
    ),
    (
        "import_tasks",
        "import_tasks is Ansible's word",
        "write include: FILE",
    ),
    (
        "include_role",
        "include_role is Ansible's word",
        "write role: NAME",
    ),
    (
        "import_role",
        "import_role is Ansible's word",
        "write role: NAME",
    ),
    ("with_items", "loops are written otherwise", "write loop"),
    (
        "with_dict",
        "loops are written otherwise",
        "write loop: a map gives items with key and value",
    ),
    (
        "loop_control",
        "the item of a loop is `item`",
        "leave it away; give an inner loop's block vars of its own",
    ),
    (
        "delay",
        "nothing sleeps here",
        "leave it away: the run goes on when what `until` read changes",
    ),
    (
        "ignore_errors",
        "errors are rescued here",
        "write block: [the step] and rescue: []",
    ),
    (
        "failed_when",
        "a step fails by its own means",
        "write an assert after it",
    ),
    (
        "changed_when",
        "the runtime knows what changed",
        "leave it away",
    ),
    (
        "notify",
        "there are no handlers",
        "write a step; it sends nothing when nothing changed",
    ),
    (
        "become",
        "there is no other user to become",
        "leave it away",
    ),
    (
        "dependsOn",
        "dependencies are written otherwise",
        "write needs: [STEP]",
    ),
    (
        "depends",
        "dependencies are written otherwise",
        "write needs: [STEP]",
    ),
    (
        "dependencies",
        "dependencies are written otherwise",
        "write needs: [STEP]",
    ),
    (
        "readyWhen",
        "gates are written otherwise",
        "write ready: EXPRESSION",
    ),
    (
        "includeWhen",
        "conditions are written otherwise",
        "write when: EXPRESSION",
    ),
    (
        "forEach",
        "loops are written otherwise",
        "write loop: EXPRESSION",
    ),
];

/// The keys of an `apply` that does not write its manifest directly.
pub(super) const APPLY: Keys = Keys {
    known: &[
        "manifest", "file", "template", "vars", "owner", "force", "adopt", "recreate",
    ],
    refused: &[
        (
            "definition",
            "definition is Ansible's word",
            "write manifest",
        ),
        ("src", "src is Ansible's word", "write file"),
        (
            "state",
            "what is applied is present",
            "to delete, write a step with delete",
        ),
        (
            "wait",
            "gates are keys of the step",
            "write ready: true beside apply",
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

/// The keys of a `script` that is no text.
pub(super) const SCRIPT: Keys = Keys {
    known: &["file"],
    refused: &[],
};

/// The keys of an `include` that is no text.
pub(super) const INCLUDE: Keys = SCRIPT;

/// The keys of a `role` that is no text.
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

/// The keys of an `assert` that is no test.
pub(super) const ASSERT: Keys = Keys {
    known: &["that", "message"],
    refused: &[
        ("fail_msg", "fail_msg is Ansible's word", "write message"),
        ("msg", "msg is Ansible's word", "write message"),
        ("success_msg", "success needs no words", "leave it away"),
    ],
};

/// The keys of a `fail` that is no text.
pub(super) const FAIL: Keys = Keys {
    known: &["message"],
    refused: &[("msg", "msg is Ansible's word", "write message")],
};
