//! Compares expectations with the objects of the cluster.

use serde_json::Value;

use super::compare::{difference, mismatches};
use super::context::ScenarioContext;
use super::documents::{Expectation, ExpectationKind, Pattern};
use super::failure::Failure;
use crate::cluster::ErrorKind;
use crate::cluster::request::ListQuery;
use crate::model::Gvk;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;

/// The maximum number of names in a message.
const NAMES: usize = 10;
/// The maximum number of Events in a message.
const EVENTS: usize = 20;

/// Fails with a diff if the expectation does not hold.
pub(super) async fn check(
    context: &ScenarioContext,
    expected: &Expectation,
) -> Result<(), Failure> {
    let pattern = &expected.pattern;
    let checked = match &expected.kind {
        ExpectationKind::Event => event(context, pattern).await,
        ExpectationKind::Present => present(context, pattern).await,
        ExpectationKind::Absent => absent(context, pattern).await,
        ExpectationKind::Count(count) => counted(context, pattern, *count).await,
        ExpectationKind::Snapshot(name) => as_in_snapshot(context, pattern, name).await,
    };
    checked.map_err(|failure| failure.at(&pattern.file, pattern.position_of(&[])))
}

async fn present(context: &ScenarioContext, pattern: &Pattern) -> Result<(), Failure> {
    let objects = candidates(context, pattern, true).await?;
    let compared = objects
        .iter()
        .map(|object| (mismatches(&pattern.value, object), object));
    let nearest = compared.min_by_key(|(found, _)| found.len());
    let Some((found, object)) = nearest else {
        return Err(nothing(context, pattern).await);
    };
    let Some(first) = found.first() else {
        return Ok(());
    };
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("{}: {first}{more}", title(&pattern.gvk, object));
    Err(Failure::new(message)
        .with_details(difference(&pattern.value, object))
        .at(&pattern.file, pattern.position_of(&first.path)))
}

/// Returns the failure for a missing object.
async fn nothing(context: &ScenarioContext, pattern: &Pattern) -> Failure {
    let kind = pattern.gvk.kind_group();
    let what = match &pattern.name {
        Some(name) => format!("{kind} {name} does not exist"),
        None => format!("no {kind} exists"),
    };
    let others = objects(context, &pattern.gvk, None)
        .await
        .unwrap_or_default();
    Failure::new(what).with_details(match names(&others) {
        names if names.is_empty() => format!("no {kind} exists"),
        names => format!("existing objects of kind {kind}: {names}"),
    })
}

async fn absent(context: &ScenarioContext, pattern: &Pattern) -> Result<(), Failure> {
    let objects = candidates(context, pattern, false).await?;
    let mut fitting = objects
        .iter()
        .filter(|object| mismatches(&pattern.value, object).is_empty());
    fitting.next().map_or(Ok(()), |object| {
        let message = format!("{} must not exist", title(&pattern.gvk, object));
        Err(Failure::new(message))
    })
}

async fn counted(
    context: &ScenarioContext,
    pattern: &Pattern,
    count: usize,
) -> Result<(), Failure> {
    let mut objects = candidates(context, pattern, false).await?;
    objects.retain(|object| mismatches(&pattern.value, object).is_empty());
    if objects.len() == count {
        return Ok(());
    }
    let kind = pattern.gvk.kind_group();
    let message = format!(
        "expected {count} of the kind {kind}, found {}",
        objects.len()
    );
    Err(Failure::new(message).with_details(names(&objects)))
}

/// Fails unless exactly one object matches, and equals the snapshot.
async fn as_in_snapshot(
    context: &ScenarioContext,
    pattern: &Pattern,
    name: &str,
) -> Result<(), Failure> {
    present(context, pattern).await?;
    let mut objects = candidates(context, pattern, false).await?;
    objects.retain(|object| mismatches(&pattern.value, object).is_empty());
    let [object] = &objects[..] else {
        let message = format!("expected one matching object, found {}", objects.len());
        return Err(Failure::new(message).with_details(names(&objects)));
    };
    context.snapshots.check(name, object, &context.namespace)
}

/// An Event fits whose `note` contains the text, and whose other fields are as given.
async fn event(context: &ScenarioContext, pattern: &Pattern) -> Result<(), Failure> {
    let mut wanted = pattern.value.clone();
    let note = wanted
        .as_object_mut()
        .and_then(|wanted| wanted.remove("note"));
    let note = note.as_ref().and_then(Value::as_str).unwrap_or_default();
    let events = objects(context, &pattern.gvk, None).await?;
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let fits =
        |event: &Value| text(event, "note").contains(note) && mismatches(&wanted, event).is_empty();
    if events.iter().any(fits) {
        return Ok(());
    }
    let mut lines: Vec<String> = events
        .iter()
        .take(EVENTS)
        .map(|event| {
            let of = &event["regarding"];
            let parts = [text(of, "kind"), text(of, "name"), text(event, "reason")];
            format!(
                "{} {}: {}",
                text(event, "type"),
                parts.join(" "),
                text(event, "note")
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push("no Events exist".to_owned());
    }
    Err(Failure::new("found no such Event").with_details(lines.join("\n")))
}

/// The objects that a pattern may mean; `served` if it is an error that there is no such kind.
async fn candidates(
    context: &ScenarioContext,
    pattern: &Pattern,
    served: bool,
) -> Result<Vec<Value>, Failure> {
    let kind = context.cluster.kind(&pattern.gvk).await;
    let kind =
        kind.map_err(|error| Failure::from_cluster_error(&pattern.gvk.kind_group(), &error))?;
    if kind.is_none() && !served {
        return Ok(Vec::new());
    }
    let namespace = pattern.namespace.as_deref();
    if let Some(name) = &pattern.name {
        let object = context.object_ref(&pattern.gvk, namespace, name).await?;
        let found = context.get(&object).await?;
        return Ok(found.iter().map(|found| found.value()).collect());
    }
    objects(context, &pattern.gvk, namespace).await
}

/// Returns the objects of a kind in a namespace. Default: the namespace of the scenario.
pub(super) async fn objects(
    context: &ScenarioContext,
    gvk: &Gvk,
    namespace: Option<&str>,
) -> Result<Vec<Value>, Failure> {
    let place = context.object_ref(gvk, namespace, "").await?;
    let query = ListQuery {
        gvk: gvk.clone(),
        namespace: place.namespace,
        labels: LabelSelector::default(),
        fields: FieldSelector::default(),
    };
    match context.cluster.list(&query).await {
        Ok(found) => Ok(found.iter().map(|object| object.value()).collect()),
        Err(error) if error.kind == ErrorKind::KindAbsent => Ok(Vec::new()),
        Err(error) => Err(Failure::from_cluster_error(&gvk.kind_group(), &error)),
    }
}

fn title(gvk: &Gvk, object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{} {name}", gvk.kind_group())
}

fn names(objects: &[Value]) -> String {
    let all = objects.iter();
    let names = all.filter_map(|object| object["metadata"]["name"].as_str());
    let mut names: Vec<_> = names.take(NAMES).collect();
    if objects.len() > NAMES {
        names.push("…");
    }
    names.join(", ")
}
