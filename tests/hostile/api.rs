//! The API as the tests use it: paths and texts, so that no depth or size of an object is too much for the
//! client.

use anyhow::Context;
use http::{Method, Request};
use kube::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A client that acts as administrator.
#[derive(Clone)]
pub(crate) struct Api(Client);

/// The parts of an object that the tests look at. The rest is skipped without recursion.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ObjectSummary {
    pub(crate) metadata: Metadata,
    status: Option<Box<RawValue>>,
    data: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) generation: Option<i64>,
    pub(crate) deletion_timestamp: Option<String>,
    #[serde(default)]
    pub(crate) owner_references: Vec<Owner>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Owner {
    pub(crate) uid: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Condition {
    pub(crate) r#type: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) observed_generation: Option<i64>,
}

/// The result of a create.
pub(crate) enum Created {
    Made(Box<ObjectSummary>),
    /// The server does not take it.
    Refused(String),
}

/// An object with its text.
pub(crate) struct Object {
    pub(crate) seen: ObjectSummary,
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Conditions {
    conditions: Vec<Box<RawValue>>,
}

impl Api {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        media_type: &str,
        body: Option<&Value>,
    ) -> kube::Result<String> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", media_type)
            .body(body.into_bytes())
            .map_err(kube::Error::HttpError)?;
        self.0.request_text(request).await
    }

    /// Returns an object, or `None` if it does not exist.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Option<ObjectSummary>> {
        match self.send(Method::GET, path, "application/json", None).await {
            Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
            Err(error) if code(&error) == Some(404) => Ok(None),
            Err(error) => Err(error).context(path.to_owned()),
        }
    }

    /// All objects of a path; none where the kind is not served.
    pub(crate) async fn list(&self, path: &str) -> anyhow::Result<Vec<Object>> {
        let text = match self.send(Method::GET, path, "application/json", None).await {
            Ok(text) => text,
            Err(error) if code(&error) == Some(404) => return Ok(Vec::new()),
            Err(error) => return Err(error).context(path.to_owned()),
        };
        let list: List = serde_json::from_str(&text)?;
        let objects = list.items.iter().map(|item| {
            let seen = serde_json::from_str(item.get())?;
            let text = item.get().to_owned();
            Ok(Object { seen, text })
        });
        objects.collect()
    }

    /// Makes an object; a refusal by the server's rules is no error.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> anyhow::Result<Created> {
        let made = self.send(Method::POST, path, "application/json", Some(object));
        match made.await {
            Ok(text) => Ok(Created::Made(serde_json::from_str(&text)?)),
            Err(error) if code(&error).is_some_and(|code| (400..500).contains(&code)) => {
                Ok(Created::Refused(error.to_string()))
            }
            // A value that no HTTP request can carry.
            Err(kube::Error::HttpError(error)) => Ok(Created::Refused(error.to_string())),
            Err(error) => Err(error).context(path.to_owned()),
        }
    }

    /// Replaces an object. A conflict is an error; another refusal is a result.
    pub(crate) async fn replace(&self, path: &str, object: &Value) -> anyhow::Result<Created> {
        let sent = self.send(Method::PUT, path, "application/json", Some(object));
        match sent.await {
            Ok(text) => Ok(Created::Made(serde_json::from_str(&text)?)),
            Err(error) if code(&error).is_some_and(|code| code < 500 && code != 409) => {
                Ok(Created::Refused(error.to_string()))
            }
            Err(error) => Err(error).context(path.to_owned()),
        }
    }

    /// Makes an object that must be taken; one that is there already is left alone.
    pub(crate) async fn ensure(&self, path: &str, object: &Value) -> anyhow::Result<()> {
        match self.create(path, object).await? {
            Created::Refused(why) if !why.contains("already exists") => {
                anyhow::bail!("{path}: {why}: {object}")
            }
            Created::Made(_) | Created::Refused(_) => Ok(()),
        }
    }

    /// Lays a patch over an object; false if the server does not take it.
    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> anyhow::Result<bool> {
        let media_type = "application/merge-patch+json";
        match self
            .send(Method::PATCH, path, media_type, Some(patch))
            .await
        {
            Ok(_) => Ok(true),
            Err(error) if code(&error).is_some_and(|code| (400..500).contains(&code)) => Ok(false),
            Err(error) => Err(error).context(path.to_owned()),
        }
    }

    /// Deletes an object that may be gone already.
    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        let options = json!({"propagationPolicy": "Background"});
        match self
            .send(Method::DELETE, path, "application/json", Some(&options))
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if code(&error) == Some(404) => Ok(()),
            Err(error) => Err(error).context(path.to_owned()),
        }
    }
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

impl ObjectSummary {
    /// A condition, if the status is of the form that the runtime writes.
    pub(crate) fn condition(&self, r#type: &str) -> Option<Condition> {
        let status: Conditions = serde_json::from_str(self.status.as_ref()?.get()).ok()?;
        // The tenant may have written entries of another form beside it.
        let entries = status.conditions.iter();
        let mut conditions = entries.filter_map(|entry| serde_json::from_str(entry.get()).ok());
        conditions.find(|condition: &Condition| condition.r#type == r#type)
    }

    /// The text of the status.
    pub(crate) fn status(&self) -> &str {
        self.status.as_ref().map_or("", |status| status.get())
    }

    /// Returns a value of a ConfigMap, or an encoded value of a Secret.
    pub(crate) fn data(&self, key: &str) -> Option<String> {
        let data: Value = serde_json::from_str(self.data.as_ref()?.get()).ok()?;
        Some(data[key].as_str()?.to_owned())
    }
}
