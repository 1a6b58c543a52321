//! Missing permissions: the test uses its own kind, because the shared operator of the examples has all
//! permissions.

use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use libtest_mimic::Trial;
use serde_json::json;

use crate::widgets::{MAKE_MAP, Widgets};
use test_harness::{Case, Operator, SOON, eventually, trials};

pub(super) fn tests() -> Vec<Trial> {
    trials![a_lacking_right_is_named_in_log_condition_and_event]
}

async fn a_lacking_right_is_named_in_log_condition_and_event(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let user = case.user("limited").await?;
    let reads = ["get", "list", "watch"];
    user.allow(json!([
        {"apiGroups": [case.group], "resources": ["widgets"], "verbs": reads},
        {"apiGroups": [case.group], "resources": ["widgets/status"], "verbs": ["patch"]},
        {"apiGroups": [case.group], "resources": ["widgets/finalizers"], "verbs": ["update"]},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": reads},
    ]))
    .await?;
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    widgets.make("a", "one").await?;
    let names_it = |text: &str| {
        let verb = ["create", "patch"]
            .iter()
            .any(|verb| text.contains(&format!("cannot {verb}")));
        verb && text.contains("configmaps") && text.contains(&case.namespace)
    };
    eventually(SOON, "the condition", || async {
        let condition = widgets.condition("a", "Ready").await?;
        let message = condition["message"].as_str().unwrap_or_default();
        anyhow::ensure!(condition["status"] == "False", "{condition}");
        anyhow::ensure!(names_it(message), "{condition}");
        Ok(())
    })
    .await?;
    eventually(SOON, "the Event", || async {
        let events = case.objects::<Event>().list(&ListParams::default()).await?;
        let notes: Vec<_> = events
            .iter()
            .filter_map(|event| event.note.as_deref())
            .collect();
        anyhow::ensure!(notes.iter().any(|note| names_it(note)), "{notes:?}");
        Ok(())
    })
    .await?;
    let log = operator.log()?;
    let mut errors = log.lines().filter(|line| line.contains("\"ERROR\""));
    assert!(errors.any(names_it), "{log}");
    Ok(())
}
