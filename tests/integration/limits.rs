//! Runs that reach a limit: the metric counts each kind of limit.

use anyhow::ensure;
use kube::api::{DynamicObject, PostParams};
use libtest_mimic::Trial;
use serde_json::json;
use test_harness::{Case, Crd, Operator, Project, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![each_limit_that_ends_a_run_is_counted]
}

/// A role that reaches one limit.
struct LimitedRole {
    kind: &'static str,
    script: &'static str,
    /// The value of the metric's label.
    limit: &'static str,
}

const ROLES: [LimitedRole; 6] = [
    LimitedRole {
        kind: "Operations",
        script: "let n = 0;\nloop { n += 1; }",
        limit: "operations",
    },
    LimitedRole {
        kind: "Memory",
        script: "let text = `x`;\nloop { text += text; }",
        limit: "memory",
    },
    LimitedRole {
        kind: "Nesting",
        script: "let list = [];\nloop { list = [list]; }",
        limit: "nesting",
    },
    LimitedRole {
        kind: "Depth",
        script: "fn down(n) { down(n + 1) }\ndown(0);",
        limit: "depth",
    },
    LimitedRole {
        kind: "HostCalls",
        script: r#"loop { k8s_get("v1", "ConfigMap", "absent"); }"#,
        limit: "host_calls",
    },
    LimitedRole {
        kind: "Objects",
        script: r#"
            let n = 0;
            loop {
                n += 1;
                let map = #{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: `${meta.name}-${n}`}};
                try { k8s_apply([map]) } catch {}
            }
        "#,
        limit: "objects",
    },
];

async fn each_limit_that_ends_a_run_is_counted(case: Case) -> anyhow::Result<()> {
    let watches = ROLES.iter().map(|role| {
        let (kind, name) = (role.kind, role.kind.to_lowercase());
        format!("- {{group: '{{group}}', version: v1, kind: {kind}, role: {name}}}\n")
    });
    let mut project = Project::new(&case, &watches.collect::<String>())?;
    for role in &ROLES {
        project = project.with_role(&case, &role.kind.to_lowercase(), role.script)?;
        let resource = case.define(&Crd::new(role.kind)).await?;
        let object = DynamicObject::new("a", &resource).data(json!({"spec": {}}));
        case.api(&resource)
            .create(&PostParams::default(), &object)
            .await?;
    }
    let flags = [
        "--run-operations",
        "100000",
        "--run-host-calls",
        "20",
        "--run-objects",
        "3",
    ];
    let operator = Operator::builder(&case, &project)
        .flags(flags)
        .start()
        .await?;
    eventually(SOON, "the message of the condition", || async {
        let api = case.api(&Crd::new("Objects").resource(&case.group));
        let object = api.get("a").await?;
        let message = object.data["status"]["conditions"].to_string();
        ensure!(
            message.contains("the run applies more than 3 objects"),
            "{message}"
        );
        Ok(())
    })
    .await?;
    eventually(SOON, "the count of each limit", || async {
        let metrics = operator.metrics().await?;
        for role in &ROLES {
            let label = format!("limit=\"{}\"", role.limit);
            let mut lines = metrics.lines();
            let line = lines.find(|line| {
                line.starts_with("rhai_operator_run_limits_total{") && line.contains(&label)
            });
            let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
            ensure!(count > Some(0), "{}: {line:?}", role.limit);
        }
        Ok(())
    })
    .await
}
