//! Parses arguments of host functions: references, options, selectors, durations.

use std::fmt;
use std::time::Duration;

use rhai::{Dynamic, Map};
use serde_json::Value;

use super::{HostResult, invalid};
use crate::cluster::Cluster;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, ObjectRef, duration};
use crate::script::{HostError, value};

/// An object as a script names it; whose namespace it is follows from its kind.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) gvk: Gvk,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// The uid, if a whole object was given.
    pub(crate) uid: Option<String>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(
            f,
            "{} {namespace}{slash}{}",
            self.gvk.kind_group(),
            self.name
        )
    }
}

impl Reference {
    /// From any object, or a map `#{apiVersion, kind, name, namespace}`.
    pub(crate) fn from_dynamic(reference: &Dynamic) -> HostResult<Self> {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        let Some(map) = reference.read_lock::<Map>() else {
            let found = if reference.is_unit() {
                "()"
            } else {
                reference.type_name()
            };
            return Err(invalid(format!("{expected}, found {found}")));
        };
        let metadata = map.get("metadata").and_then(Dynamic::read_lock::<Map>);
        let top = |key: &str| text(map.get(key));
        let inner = |key: &str| text(metadata.as_ref().and_then(|m| m.get(key)));
        let missing = |key: &str| invalid(format!("{expected}: {key} is missing"));
        let api_version = top("apiVersion").ok_or_else(|| missing("apiVersion"))?;
        let kind = top("kind").ok_or_else(|| missing("kind"))?;
        let name = inner("name").or_else(|| top("name"));
        Ok(Self {
            gvk: Gvk::from_api_version(&api_version, &kind),
            namespace: inner("namespace").or_else(|| top("namespace")),
            name: name.ok_or_else(|| missing("name"))?,
            uid: inner("uid"),
        })
    }

    /// Returns the reference of the object. For a namespaced kind, the namespace defaults to that of the
    /// custom resource.
    pub(super) async fn resolve(
        &self,
        cluster: &Cluster,
        cr: &ObjectRef,
    ) -> Result<ObjectRef, HostError> {
        let kind = cluster.kind(&self.gvk).await?;
        // The scope of a kind that the cluster does not serve is unknown. A namespace suggests that the kind
        // is namespaced.
        let guess = self.namespace.is_some() || cr.namespace.is_some();
        let namespaced = kind.map_or(guess, |kind| kind.namespaced);
        let default = cr.namespace.as_deref();
        match self.namespace.as_deref().or(default) {
            _ if !namespaced => Ok(ObjectRef::new(self.gvk.clone(), None, &self.name)),
            Some(namespace) => Ok(ObjectRef::new(
                self.gvk.clone(),
                Some(namespace),
                &self.name,
            )),
            None => {
                let message = format!(
                    "{} {}: expected a namespace, because {cr} has none",
                    self.gvk.kind, self.name
                );
                Err(HostError::new("invalid", message))
            }
        }
    }
}

fn text(value: Option<&Dynamic>) -> Option<String> {
    let text = value?.clone().into_string().ok()?;
    (!text.is_empty()).then_some(text)
}

/// A map of options. A host function takes each option once; the remaining keys are errors.
pub(super) struct Options(Map);

impl Options {
    pub(super) fn new(map: Map) -> Self {
        Self(map)
    }

    /// Removes an option and returns it. The value `()` counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Dynamic> {
        self.0.remove(name).filter(|value| !value.is_unit())
    }

    pub(super) fn take_bool(&mut self, name: &str) -> HostResult<Option<bool>> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let flag = value.as_bool();
        flag.map(Some)
            .map_err(|found| invalid(format!("{name}: expected true or false, found {found}")))
    }

    pub(super) fn take_text(&mut self, name: &str) -> HostResult<Option<String>> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let text = value.into_string();
        text.map(Some)
            .map_err(|found| invalid(format!("{name}: expected a string, found {found}")))
    }

    /// Fails if an option was not taken. The message lists the `known` options.
    pub(super) fn finish(self, known: &[&str]) -> HostResult<()> {
        let Some(unknown) = self.0.keys().next() else {
            return Ok(());
        };
        Err(invalid(format!(
            "unknown option `{unknown}`: expected {}",
            known.join(", ")
        )))
    }
}

/// A label selector as text or map.
pub(super) fn label_selector(selector: Option<&Dynamic>) -> HostResult<LabelSelector> {
    let Some(selector) = selector else {
        return Ok(LabelSelector::default());
    };
    let parsed = match json(selector)? {
        Value::String(text) => text.parse(),
        map => LabelSelector::from_value(&map),
    };
    parsed.map_err(|error| invalid(format!("labels: {error}")))
}

/// A field selector as text or as a map of equalities.
pub(super) fn field_selector(selector: Option<&Dynamic>) -> HostResult<FieldSelector> {
    let text = match selector.map(json).transpose()? {
        None => return Ok(FieldSelector::default()),
        Some(Value::String(text)) => text,
        Some(Value::Object(map)) => {
            let equality = |(path, value): (&String, &Value)| match value {
                Value::String(value) => format!("{path}={value}"),
                value => format!("{path}={value}"),
            };
            map.iter().map(equality).collect::<Vec<_>>().join(",")
        }
        Some(_) => return Err(invalid("fields: expected a string or a map")),
    };
    text.parse()
        .map_err(|error| invalid(format!("fields: {error}")))
}

/// A duration as Go's text or as whole seconds.
pub(super) fn duration(value: &Dynamic) -> HostResult<Duration> {
    if let Ok(seconds) = value.as_int() {
        let seconds = u64::try_from(seconds);
        return seconds
            .map(Duration::from_secs)
            .map_err(|_| invalid("the duration is negative"));
    }
    let Ok(text) = value.clone().into_string() else {
        let found = value.type_name();
        return Err(invalid(format!(
            "expected a duration like \"1m30s\" or seconds, found {found}"
        )));
    };
    duration::parse(&text).map_err(|error| invalid(error.to_string()))
}

/// A script value as JSON.
pub(super) fn json(value: &Dynamic) -> HostResult<Value> {
    value::to_value(value).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(script: &str) -> Dynamic {
        rhai::Engine::new().eval(script).unwrap()
    }

    #[test]
    fn an_object_and_a_short_map_name_the_same() {
        let object = Reference::from_dynamic(&eval(
            r#"#{apiVersion: "apps/v1", kind: "Deployment", metadata: #{name: "d", namespace: "n", uid: "u"}}"#,
        ))
        .unwrap();
        let short = Reference::from_dynamic(&eval(
            r#"#{apiVersion: "apps/v1", kind: "Deployment", name: "d", namespace: "n"}"#,
        ))
        .unwrap();
        assert_eq!((&object.gvk, &object.name), (&short.gvk, &short.name));
        assert_eq!(object.namespace, short.namespace);
        assert_eq!(object.uid.as_deref(), Some("u"));
    }

    #[test]
    fn missing_fields_are_named() {
        let error =
            Reference::from_dynamic(&eval(r#"#{apiVersion: "v1", kind: "Pod"}"#)).unwrap_err();
        assert!(error.to_string().contains("name is missing"), "{error}");
        assert!(
            Reference::from_dynamic(&Dynamic::UNIT)
                .unwrap_err()
                .to_string()
                .contains("found ()")
        );
    }

    #[test]
    fn unknown_options_are_reported() {
        let mut options = Options::new(eval("#{force: true, ownr: false}").cast());
        assert_eq!(options.take_bool("force").unwrap(), Some(true));
        let error = options.finish(&["force", "owner"]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("unknown option `ownr`: expected force, owner")
        );
    }

    #[test]
    fn selectors_are_texts_or_maps() {
        let map = label_selector(Some(&eval(r#"#{app: "a"}"#))).unwrap();
        assert_eq!(map.to_string(), "app=a");
        let text = label_selector(Some(&"app=a".into())).unwrap();
        assert_eq!(map, text);
        let fields = field_selector(Some(&eval(r#"#{"spec.nodeName": "n"}"#))).unwrap();
        assert_eq!(fields.to_string(), "spec.nodeName=n");
    }

    #[test]
    fn durations_are_texts_or_seconds() {
        assert_eq!(duration(&"1m30s".into()).unwrap(), Duration::from_secs(90));
        assert_eq!(
            duration(&Dynamic::from(90_i64)).unwrap(),
            Duration::from_secs(90)
        );
        assert!(duration(&Dynamic::from(-1_i64)).is_err());
        assert!(duration(&Dynamic::from(1.5)).is_err());
    }
}
