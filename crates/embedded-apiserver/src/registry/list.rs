//! Lists: the newest state, an earlier state, or a page of either.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::encode;
use super::request::{ObjectResponse, ResourceRequest};
use crate::error::ApiError;
use crate::go;
use crate::select::Selection;
use crate::store::{Key, Store};

/// The options of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListOptions {
    /// The selected objects.
    pub selection: Selection,
    /// The maximum number of objects. 0 means no limit.
    pub limit: usize,
    /// The token of the previous page.
    pub continue_token: String,
    /// `resourceVersion`. 0 means any version.
    pub revision: Option<u64>,
    /// `resourceVersionMatch`
    pub matching: Option<Match>,
}

/// `resourceVersionMatch`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// Exactly this state.
    Exact,
    /// This state or a later one.
    NotOlderThan,
}

/// The response to a list request: all objects, or a page.
#[derive(Debug)]
pub(crate) struct ListResponse {
    /// The revision of the state.
    pub revision: u64,
    /// The objects in the version of the request.
    pub items: Vec<Arc<Value>>,
    /// The token of the next page.
    pub continue_token: String,
    /// The number of objects on later pages, if it is known.
    pub remaining: Option<usize>,
}

/// <https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks>
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    #[serde(default)]
    v: String,
    /// The revision of the state, or -1 for the newest state.
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// Lists the objects of the request's namespace, or of all namespaces.
pub(crate) fn list(
    store: &Store,
    call: &ResourceRequest,
    options: &ListOptions,
) -> Result<ListResponse, ApiError> {
    let token = Token::parse(&options.continue_token)?;
    let revision = revision_of(store, options, token.as_ref())?;
    let newest = store.revision();
    if let Some(asked) = options.revision.filter(|asked| *asked > newest) {
        return Err(too_large(asked, newest));
    }
    let namespace = Some(&*call.namespace).filter(|one| !one.is_empty());
    let Some(table) = store.table(call.resource.storage()) else {
        return Ok(page(call, options, newest, Vec::new()));
    };
    let mut items = if revision == newest {
        let live = table.list(namespace);
        live.map(|(key, object)| (key.clone(), Arc::clone(object)))
            .collect()
    } else {
        table
            .list_at(namespace, revision)
            .map_err(|_| expired(token.as_ref(), newest))?
    };
    if let Some(token) = &token {
        let start = Key::from_text(&token.start);
        items.drain(..items.partition_point(|(key, _)| *key < start));
    }
    if !options.selection.is_empty() {
        let selection = &options.selection;
        items.retain(|(key, object)| selection.matches(&call.resource, key, object));
    }
    Ok(page(call, options, revision, items))
}

/// Returns the current version of an object.
pub(crate) fn get(store: &Store, call: &ResourceRequest) -> Result<ObjectResponse, ApiError> {
    let key = Key::new(&call.namespace, &call.name);
    let table = store.table(call.resource.storage());
    let stored = table
        .and_then(|table| table.get(&key))
        .ok_or_else(|| call.not_found(&call.name))?;
    Ok(ObjectResponse::ok(encode::presented(
        &call.resource,
        &call.version,
        stored,
    )))
}

/// Returns the revision of the state to list.
fn revision_of(
    store: &Store,
    options: &ListOptions,
    token: Option<&Token>,
) -> Result<u64, ApiError> {
    let newest = store.revision();
    if let Some(token) = token {
        if options.revision.is_some_and(|revision| revision != 0) {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok(u64::try_from(token.rv).unwrap_or(newest));
    }
    let asked = options.revision.unwrap_or(0);
    let exact = options.matching == Some(Match::Exact)
        || (options.matching.is_none() && options.limit > 0 && asked > 0);
    Ok(if exact { asked } else { newest })
}

fn page(
    call: &ResourceRequest,
    options: &ListOptions,
    revision: u64,
    mut items: Vec<(Key, Arc<Value>)>,
) -> ListResponse {
    let all = items.len();
    let mut continue_token = String::new();
    let mut remaining = None;
    if options.limit > 0 && all > options.limit {
        items.truncate(options.limit);
        if let Some((last, _)) = items.last() {
            continue_token = Token::after(revision, last).text();
        }
        // The real server does not count the remaining objects of a list with a selector.
        remaining = options.selection.is_empty().then_some(all - options.limit);
    }
    let items = items
        .iter()
        .map(|(_, stored)| encode::presented(&call.resource, &call.version, stored))
        .collect();
    ListResponse {
        revision,
        items,
        continue_token,
        remaining,
    }
}

impl Token {
    fn after(revision: u64, key: &Key) -> Self {
        Self {
            v: TOKEN_VERSION.to_owned(),
            rv: i64::try_from(revision).unwrap_or(-1),
            start: format!("{}\0", key.as_str()),
        }
    }

    fn parse(text: &str) -> Result<Option<Self>, ApiError> {
        if text.is_empty() {
            return Ok(None);
        }
        let refuse = |why: &str| {
            ApiError::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
        let bytes = bytes.map_err(|_| refuse("illegal base64 data at input byte 0"))?;
        let token: Self = serde_json::from_slice(&bytes).map_err(|_| {
            let first = bytes.first().copied().map_or('\0', char::from);
            let first = go::quote_letter(first);
            refuse(&format!(
                "invalid character {first} looking for beginning of value"
            ))
        })?;
        match &token {
            Self { v, .. } if v != TOKEN_VERSION => Err(refuse(&format!(
                "server does not recognize this encoded version {v}"
            ))),
            Self { rv: 0, .. } => Err(refuse(&format!(
                "incorrect encoded start resourceVersion (version {TOKEN_VERSION})"
            ))),
            Self { start, .. } if start.is_empty() => Err(refuse(&format!(
                "encoded start key empty (version {TOKEN_VERSION})"
            ))),
            _ => Ok(Some(token)),
        }
    }

    fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(json!(self).to_string())
    }
}

/// Returns the 504 for a revision that the store has not reached yet.
pub(crate) fn too_large(asked: u64, newest: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {asked}, current: {newest}");
    let cause = json!({
        "reason": "ResourceVersionTooLarge",
        "message": "Too large resource version",
    });
    ApiError::not_reached(message)
        .with_detail("causes", Value::Array(vec![cause]))
        .with_detail("retryAfterSeconds", 1.into())
}

/// Returns the 410 for a revision whose state is forgotten. If the client was paging, the error has a token
/// that continues with the newest state.
fn expired(token: Option<&Token>, _newest: u64) -> ApiError {
    let Some(token) = token else {
        let message = "The resourceVersion for the provided list is too old.";
        return ApiError::expired(message);
    };
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
    let inconsistent = Token {
        v: TOKEN_VERSION.to_owned(),
        rv: -1,
        start: token.start.clone(),
    };
    ApiError::expired(message).with_continue(inconsistent.text())
}
