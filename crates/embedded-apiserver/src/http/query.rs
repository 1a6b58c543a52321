//! The query of a request: parses and checks the options of reads and writes.

use std::time::Duration;

use url::form_urlencoded;

use crate::error::{ApiError, FieldError, FieldErrorKind};
use crate::registry::{
    FieldValidation, ListOptions, Match, ResourceRequest, WatchOptions, WriteOptions,
};
use crate::select::Selection;

/// The minimum timeout of a watch without a timeout. The real server adds a random time.
const WATCH_TIMEOUT: Duration = Duration::from_mins(30);

/// The maximum length of the name of a field manager, in bytes.
const MAX_MANAGER_LENGTH: usize = 128;

/// A parsed query.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        Self(
            form_urlencoded::parse(text.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// Returns the first value of a parameter, or an empty text if it is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default()
    }

    pub(super) fn first(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| &**value)
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(key, _)| key == name);
        values.map(|(_, value)| &**value)
    }

    /// Parses a flag as Go does: all values but `false` and `0` are true.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.first(name)?;
        Some(!matches!(
            value.to_ascii_lowercase().as_str(),
            "false" | "0"
        ))
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!(
                    "strconv.ParseInt: parsing {text:?}: invalid syntax"
                ))
            }),
        }
    }

    fn selection(&self, call: &ResourceRequest) -> Result<Selection, ApiError> {
        let (labels, fields) = (self.get("labelSelector"), self.get("fieldSelector"));
        Selection::parse(&call.resource, call.served(), labels, fields)
    }

    /// Parses the options of a list.
    pub(super) fn list(&self, call: &ResourceRequest) -> Result<ListOptions, ApiError> {
        let errors = self.list_errors();
        if !errors.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &errors));
        }
        let limit = self.integer("limit")?.unwrap_or(0);
        self.integer("timeoutSeconds")?;
        Ok(ListOptions {
            selection: self.selection(call)?,
            limit: usize::try_from(limit).unwrap_or(0),
            continue_token: self.get("continue").to_owned(),
            revision: self.revision().map_err(|error| {
                ApiError::bad_request(format!("invalid resource version: {}", error.message))
            })?,
            matching: match self.get("resourceVersionMatch") {
                "Exact" => Some(Match::Exact),
                "NotOlderThan" => Some(Match::NotOlderThan),
                _ => None,
            },
        })
    }

    fn list_errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let matching = self.get("resourceVersionMatch");
        if !matching.is_empty() {
            let forbidden = |detail: &str| FieldError::forbidden("resourceVersionMatch", detail);
            if self.get("resourceVersion").is_empty() {
                let text = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(forbidden(text));
            }
            if !self.get("continue").is_empty() {
                errors.push(forbidden(
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                let supported = &["Exact", "NotOlderThan", ""];
                let path = "resourceVersionMatch";
                errors.push(FieldError::not_supported(path, matching, supported));
            }
            if matching == "Exact" && self.get("resourceVersion") == "0" {
                let text = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(forbidden(text));
            }
        }
        if self.first("sendInitialEvents").is_some() {
            let text = "sendInitialEvents is forbidden for list";
            errors.push(FieldError::forbidden("sendInitialEvents", text));
        }
        errors
    }

    /// Parses the options of a watch.
    pub(super) fn watch(&self, call: &ResourceRequest) -> Result<WatchOptions, ApiError> {
        let errors = self.watch_errors();
        if !errors.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &errors));
        }
        let timeout = self.integer("timeoutSeconds")?;
        let timeout = timeout.and_then(|seconds| u64::try_from(seconds).ok());
        Ok(WatchOptions {
            selection: self.selection(call)?,
            revision: self.revision().map_err(ApiError::without_class)?,
            bookmarks: self.flag("allowWatchBookmarks").unwrap_or(false),
            initial_events: self.flag("sendInitialEvents"),
            timeout: timeout.filter(|seconds| *seconds > 0).map_or_else(
                || WATCH_TIMEOUT.mul_f64(1.0 + rand::random::<f64>()),
                Duration::from_secs,
            ),
        })
    }

    fn watch_errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = "resourceVersionMatch";
        let matching = self.get(path);
        let initial = self.first("sendInitialEvents").is_some();
        if initial && matching != "NotOlderThan" {
            let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(FieldError::forbidden(path, text));
        }
        if !matching.is_empty() {
            if !initial {
                let text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                errors.push(FieldError::forbidden(path, text));
            }
            if matching != "NotOlderThan" {
                errors.push(FieldError::not_supported(path, matching, &["NotOlderThan"]));
            }
            if !self.get("continue").is_empty() {
                let text = "resourceVersionMatch is forbidden with continue";
                errors.push(FieldError::forbidden(path, text));
            }
        } else if !self.get("continue").is_empty()
            && matches!(self.get("resourceVersion"), "" | "0")
        {
            // Such a watch starts with all objects, so the same rule applies as for `sendInitialEvents`.
            let text = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(path, text));
        }
        errors
    }

    /// Parses `resourceVersion`.
    pub(super) fn revision(&self) -> Result<Option<u64>, ApiError> {
        let text = self.get("resourceVersion");
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let why = if digits {
                "value out of range"
            } else {
                "invalid syntax"
            };
            let why = format!("strconv.ParseUint: parsing {text:?}: {why}");
            let error = FieldError::invalid("resourceVersion", text, why);
            ApiError::bad_request(error.to_string())
        })
    }

    /// Parses the options of a write. `kind` is the kind of the options: `CreateOptions`.
    pub(super) fn write(&self, kind: &str, agent: &str) -> Result<WriteOptions, ApiError> {
        let mut errors = Vec::new();
        let dry_run: Vec<&str> = self.all("dryRun").filter(|one| !one.is_empty()).collect();
        check_dry_run(&dry_run, &mut errors);
        let given = self.get("fieldManager");
        check_manager(given, &mut errors);
        let validation = match self.get("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = &["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported(
                    "fieldValidation",
                    other,
                    supported,
                ));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", kind, "", &errors));
        }
        Ok(WriteOptions {
            dry_run: !dry_run.is_empty(),
            manager: manager(given, agent),
            validation,
            force: self.flag("force").unwrap_or(false),
        })
    }
}

/// Checks that `dryRun` is `All` or missing.
pub(super) fn check_dry_run(values: &[&str], errors: &mut Vec<FieldError>) {
    if values.iter().any(|one| *one != "All") {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        errors.push(FieldError::not_supported("dryRun", values, &["All"]));
    }
}

fn check_manager(name: &str, errors: &mut Vec<FieldError>) {
    if name.len() > MAX_MANAGER_LENGTH {
        errors.push(FieldError::new(
            FieldErrorKind::TooLong,
            "fieldManager",
            name,
            format!("may not be more than {MAX_MANAGER_LENGTH} bytes"),
        ));
    }
    if let Some((index, c)) = name.char_indices().find(|(_, c)| c.is_control()) {
        let detail = format!(
            "invalid character U+{:04X} (at position {index})",
            u32::from(c)
        );
        errors.push(FieldError::invalid("fieldManager", name, detail));
    }
}

/// Returns the field manager: that of the query, or the user agent up to the first slash.
fn manager(given: &str, agent: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let head = agent.split('/').next().unwrap_or_default();
    let head: String = head.chars().take(MAX_MANAGER_LENGTH).collect();
    if head.is_empty() {
        "unknown".to_owned()
    } else {
        head
    }
}
