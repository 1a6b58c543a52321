//! A version of a custom resource, compiled from its schema.

use serde_json::Value;

use super::column::{self, Column};
use super::jsonpath::JsonPath;
use super::pattern::SearchBudget;
use super::rules::Rules;
use super::scale::Scale;
use super::structural::{Structural, list, text};
use super::verdict::ValidationResult;
use super::{defaulting, embedded, lists, metadata, prune, value};
use crate::error::{ApiError, FieldError, FieldErrorKind};
use crate::go;

/// A compiled version of a custom resource definition.
#[derive(Debug)]
pub struct Version {
    name: String,
    kind: String,
    schema: Structural,
    rules: Option<Rules>,
    open_api_schema: Option<Value>,
    columns: Vec<Column>,
    scale: Option<Scale>,
    has_status: bool,
    selectable: Vec<(String, Option<JsonPath>)>,
    deprecation: Option<String>,
}

impl Version {
    /// Compiles a version of a definition that [`super::validate`] accepts. Returns nothing if the definition
    /// has no such version.
    pub fn compile(crd: &Value, name: &str) -> Option<Self> {
        let spec = crd.get("spec")?;
        let version = list(spec, "versions").find(|version| version["name"] == name)?;
        let open_api_schema = version.pointer("/schema/openAPIV3Schema").cloned();
        let schema = open_api_schema
            .as_ref()
            .map(Structural::read)
            .unwrap_or_default();
        let scale = version.pointer("/subresources/scale");
        Some(Self {
            name: name.to_owned(),
            kind: text(spec.get("names")?, "kind")?,
            rules: Rules::compile(&schema),
            schema,
            open_api_schema,
            columns: column::read(version),
            scale: scale.filter(|it| it.is_object()).map(Scale::read),
            has_status: version
                .pointer("/subresources/status")
                .is_some_and(Value::is_object),
            selectable: selectable(version),
            deprecation: deprecation(spec, version, name),
        })
    }

    /// Decodes a request body: reduces the metadata to `ObjectMeta`, prunes unknown fields, and removes nulls
    /// from fields that are not nullable. Returns the paths of the unknown fields in the order of the server,
    /// or a 400.
    pub fn coerce(&self, object: &mut Value) -> Result<Vec<String>, ApiError> {
        let mut unknown = Vec::new();
        if let Some(inner) = object.get_mut("metadata") {
            metadata::decode(inner, "metadata", &mut unknown).map_err(|why| self.refuse(&why))?;
        }
        unknown.extend(prune::resource(object, &self.schema));
        prune::nulls(object, Some(&self.schema));
        let mut embedded_unknown = Vec::new();
        embedded::decode(object, &self.schema, &mut embedded_unknown)
            .map_err(|error| self.refuse(&error.to_string()))?;
        embedded_unknown.sort();
        unknown.extend(embedded_unknown);
        Ok(unknown)
    }

    fn refuse(&self, why: &str) -> ApiError {
        let Self { kind, name, .. } = self;
        ApiError::bad_request(format!(
            "{kind} in version {name:?} cannot be handled as a {kind}: {why}"
        ))
    }

    /// Sets defaults, after [`Self::coerce`] and when an object is read from the store.
    pub fn default(&self, object: &mut Value) {
        defaulting::apply(object, &self.schema);
    }

    /// Validates an object without its own apiVersion, kind and metadata. With an old object, tolerates
    /// errors of unchanged values.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> ValidationResult {
        let _searches = SearchBudget::begin();
        let mut verdict = ValidationResult {
            errors: value::errors(object, old, &self.schema, ""),
            warnings: Vec::new(),
        };
        if let Some(scale) = &self.scale {
            verdict.errors.extend(scale.spec_errors(object));
            verdict.errors.extend(scale.status_errors(object));
        }
        self.validate_rest(object, old, &mut verdict);
        verdict.warn_of_finalizers(object, old);
        verdict
    }

    /// Validates a write of the status subresource.
    pub fn validate_status(&self, object: &Value, old: &Value) -> ValidationResult {
        let _searches = SearchBudget::begin();
        let mut verdict = ValidationResult::default();
        if let (Some(status), Some(schema)) =
            (object.get("status"), self.schema.properties.get("status"))
        {
            let old = old.get("status").unwrap_or(&Value::Null);
            verdict
                .errors
                .extend(value::errors(status, Some(old), schema, "status"));
        }
        if let Some(scale) = &self.scale {
            verdict.errors.extend(scale.status_errors(object));
        }
        self.validate_rest(object, Some(old), &mut verdict);
        verdict
    }

    fn validate_rest(&self, object: &Value, old: Option<&Value>, verdict: &mut ValidationResult) {
        let errors = &mut verdict.errors;
        errors.extend(embedded::errors(object, &self.schema));
        // Duplicates do not fail an update of an object that already had duplicates.
        if old.is_none_or(|old| lists::duplicates(old, &self.schema).is_empty()) {
            errors.extend(lists::duplicates(object, &self.schema));
        }
        let Some(rules) = &self.rules else {
            return;
        };
        if errors.iter().any(|error| blocks_rules(error.kind)) {
            errors.push(unchecked());
        } else {
            rules.run(object, old, &self.schema, "", verdict);
        }
    }

    /// Returns the name, such as `v1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the columns without that of the name.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns whether the version has a status subresource.
    pub fn has_status(&self) -> bool {
        self.has_status
    }

    /// Returns the scale subresource, if any.
    pub fn scale(&self) -> Option<&Scale> {
        self.scale.as_ref()
    }

    /// Returns the names of the fields by which lists can be filtered, in addition to name and namespace.
    pub fn selectable_names(&self) -> impl Iterator<Item = &str> {
        self.selectable.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the selectable fields of an object. The value of a missing field is empty.
    pub fn selectable_fields(&self, object: &Value) -> Vec<(String, String)> {
        let field = |(name, path): &(String, Option<JsonPath>)| {
            let found = path
                .as_ref()
                .and_then(|path| path.find(object).first().copied());
            let value = found.filter(|value| !value.is_null());
            (name.clone(), value.map(go::plain).unwrap_or_default())
        };
        self.selectable.iter().map(field).collect()
    }

    /// Returns the warning for requests to a deprecated version.
    pub fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    /// Returns the original `openAPIV3Schema`.
    pub fn open_api_schema(&self) -> Option<&Value> {
        self.open_api_schema.as_ref()
    }
}

/// Returns whether an error of this kind prevents the rules from running, because rules rely on valid values.
fn blocks_rules(kind: FieldErrorKind) -> bool {
    matches!(
        kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}

fn unchecked() -> FieldError {
    FieldError::invalid(
        "<nil>",
        Value::Null,
        "some validation rules were not checked because the object was invalid; \
         correct the existing errors to complete validation",
    )
}

fn selectable(version: &Value) -> Vec<(String, Option<JsonPath>)> {
    list(version, "selectableFields")
        .filter_map(|field| text(field, "jsonPath"))
        .map(|path| {
            let name = path.strip_prefix('.').unwrap_or(&path).to_owned();
            (name, JsonPath::parse(&path))
        })
        .collect()
}

/// Returns the author's deprecation warning, or the default one: `more.io/v1beta1 Clu is deprecated; use
/// more.io/v1 Clu`.
fn deprecation(spec: &Value, version: &Value, name: &str) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(warning) = text(version, "deprecationWarning") {
        return Some(warning);
    }
    let group = text(spec, "group").unwrap_or_default();
    let kind = text(&spec["names"], "kind").unwrap_or_default();
    let better = super::priority::served(spec)
        .into_iter()
        .take_while(|other| *other != name)
        .find(|other| {
            list(spec, "versions").any(|it| it["name"] == *other && it["deprecated"] != true)
        });
    let instead = better
        .map(|it| format!("; use {group}/{it} {kind}"))
        .unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}
