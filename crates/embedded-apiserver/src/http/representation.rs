//! Represents objects in responses: as a whole, as metadata, or as rows of a table.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::negotiate::{Form, Include, ObjectForm};
use super::strategy::strategy_of;
use crate::crd::Heading;
use crate::registry::{ListResponse, ResourceRequest};
use crate::table::Table;

/// The representation of the objects of one request.
pub(super) struct Representation {
    pub(super) form: Form,
    pub(super) call: ResourceRequest,
    pub(super) now: Timestamp,
    /// True if a watch has already sent the column definitions. It sends them once.
    pub(super) columns_sent: bool,
}

impl Representation {
    pub(super) fn new(form: Form, call: &ResourceRequest, now: Timestamp) -> Self {
        Self {
            form,
            call: call.clone(),
            now,
            columns_sent: false,
        }
    }

    /// Returns the representation of an object.
    pub(super) fn object<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        // A Status is the same in all representations.
        if object["kind"] == "Status" {
            return Cow::Borrowed(object);
        }
        match self.form.shape {
            ObjectForm::Object => Cow::Borrowed(object),
            ObjectForm::Metadata => Cow::Owned(partial(object)),
            ObjectForm::Table(include) => {
                let items = [Arc::new(object.clone())];
                let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                Cow::Owned(self.table(&items, &metadata, include, true))
            }
        }
    }

    /// Returns a list in the representation of the request.
    pub(super) fn list(&self, list: &ListResponse) -> Value {
        let mut metadata = json!({"resourceVersion": list.revision.to_string()});
        let strategy = strategy_of(&self.call.resource);
        let shows_empty = self.form.shape == ObjectForm::Object && strategy.shows_empty_continue();
        if !list.continue_token.is_empty() || shows_empty {
            metadata["continue"] = list.continue_token.as_str().into();
        }
        if let Some(remaining) = list.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        match self.form.shape {
            ObjectForm::Table(include) => self.table(&list.items, &metadata, include, true),
            ObjectForm::Metadata => {
                let items: Vec<Value> = list.items.iter().map(|one| partial(one)).collect();
                json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": metadata,
                    "items": items,
                })
            }
            ObjectForm::Object => json!({
                "kind": &*self.call.resource.list_kind,
                "apiVersion": self.call.api_version(),
                "metadata": metadata,
                "items": list.items.iter().map(|one| self.item(one)).collect::<Vec<_>>(),
            }),
        }
    }

    /// Returns an item of a list.
    fn item(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if !strategy_of(&self.call.resource).items_have_type()
            && let Some(map) = object.as_object_mut()
        {
            map.remove("kind");
            map.remove("apiVersion");
        }
        object
    }

    /// Returns the object of a watch event.
    pub(super) fn event(&mut self, object: &Arc<Value>) -> Value {
        let ObjectForm::Table(include) = self.form.shape else {
            return self.object(object).into_owned();
        };
        let first = !std::mem::replace(&mut self.columns_sent, true);
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        self.table(&[Arc::clone(object)], &metadata, include, first)
    }

    /// Returns the object of a bookmark.
    pub(super) fn bookmark(&self, revision: u64, initial_end: bool) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version) = match self.form.shape {
            ObjectForm::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()),
            _ => (&*self.call.resource.kind, self.call.api_version()),
        };
        json!({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    }

    fn table(
        &self,
        items: &[Arc<Value>],
        metadata: &Value,
        include: Include,
        with_columns: bool,
    ) -> Value {
        let table = Table::new(&self.call.resource, self.call.served());
        let rows: Vec<Value> = items
            .iter()
            .map(|object| {
                let mut row = Map::new();
                row.insert("cells".to_owned(), table.cells(object, self.now).into());
                let shown = match include {
                    Include::None => None,
                    Include::Metadata => Some(partial(object)),
                    Include::Object => Some((**object).clone()),
                };
                row.insert("object".to_owned(), shown.unwrap_or_default());
                Value::Object(row)
            })
            .collect();
        let columns: Vec<Value> = table.columns().iter().map(Heading::definition).collect();
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": if with_columns { columns.into() } else { Value::Null },
            "rows": rows,
        })
    }
}

fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
