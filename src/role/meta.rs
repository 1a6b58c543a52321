//! Parses `meta/main.yaml`: the description, the inputs and the permissions of a role.

use std::collections::BTreeMap;

use super::input::Input;
use super::input_parser;
use super::permissions::{ApiRule, Permissions};
use crate::model::diagnostics::{Diagnostics, Item, Keys};
use crate::model::syntax::{is_dns_label, is_dns_subdomain};
use crate::model::yaml::Content;

/// The contents of the file.
#[derive(Debug, Default)]
pub(super) struct Meta {
    pub(super) description: String,
    pub(super) inputs: BTreeMap<String, Input>,
    pub(super) permissions: Permissions,
}

const META: Keys = Keys {
    known: &["description", "inputs", "permissions"],
    refused: &[
        (
            "galaxy_info",
            "galaxy_info is not supported",
            "remove it, and write the description at the top level",
        ),
        (
            "dependencies",
            "dependencies is not supported",
            "include the role in the script with include_role",
        ),
        (
            "collections",
            "collections is not supported",
            "remove the key",
        ),
    ],
};
const PERMISSIONS: Keys = Keys {
    known: &["api", "env", "http"],
    refused: &[],
};
const RULE: Keys = Keys {
    known: &[
        "apiGroups",
        "resources",
        "verbs",
        "namespaces",
        "resourceNames",
    ],
    refused: &[(
        "nonResourceURLs",
        "nonResourceURLs is not supported: a role can request permissions on resources only",
        "remove the key",
    )],
};

const VERBS: [(&str, ()); 9] = [
    ("get", ()),
    ("list", ()),
    ("watch", ()),
    ("create", ()),
    ("update", ()),
    ("patch", ()),
    ("delete", ()),
    ("deletecollection", ()),
    ("*", ()),
];

/// Parses the file. Invalid parts are reported and left out.
pub(super) fn read(text: &str, findings: &Diagnostics) -> Meta {
    let Some(root) = findings.parse(text) else {
        return Meta::default();
    };
    if root.content == Content::Null {
        return Meta::default();
    }
    let Some(fields) = Item::root(&root, findings).fields(META) else {
        return Meta::default();
    };
    let description = fields.get("description").and_then(|item| item.text());
    Meta {
        description: description.unwrap_or_default().to_owned(),
        inputs: fields
            .get("inputs")
            .map(|item| input_parser::parse_inputs(&item))
            .unwrap_or_default(),
        permissions: fields
            .get("permissions")
            .and_then(|item| permissions(&item))
            .unwrap_or_default(),
    }
}

/// Parses the inputs of the text of a `meta/main.yaml`. Leaves out invalid ones.
pub fn parse_inputs(text: &str) -> BTreeMap<String, Input> {
    read(text, &Diagnostics::new("meta/main.yaml")).inputs
}

fn permissions(item: &Item<'_>) -> Option<Permissions> {
    let fields = item.fields(PERMISSIONS)?;
    let rules = fields
        .get("api")
        .map(|item| item.items().unwrap_or_default());
    let texts = |key: &str, expected: &str, valid: fn(&str) -> bool| {
        let item = fields.get(key);
        item.map(|item| texts(&item, expected, valid))
            .unwrap_or_default()
    };
    Some(Permissions {
        api: rules.map(|rules| rules.iter().filter_map(api_rule).collect()),
        position: fields
            .get("api")
            .map_or_else(|| item.position(), |api| api.position()),
        env: texts("env", "the name of an environment variable", is_variable),
        http: texts("http", "a host like api.example.com", is_host),
    })
}

/// Parses a rule of `permissions`.
pub(crate) fn api_rule(item: &Item<'_>) -> Option<ApiRule> {
    let fields = item.fields(RULE)?;
    let list = |key: &str| at_least_one(&fields.required(key, None)?);
    let optional = |key: &str, expected: &str, valid: fn(&str) -> bool| {
        let items = at_least_one(&fields.get(key)?).unwrap_or_default();
        Some(like(&items, expected, valid))
    };
    let namespaces = optional("namespaces", "a namespace, or * for all", is_namespace);
    let names = optional("resourceNames", "the name of an object", is_name);
    let groups = list("apiGroups");
    let resources = list("resources");
    let verbs = list("verbs");
    Some(ApiRule {
        api_groups: like(&groups?, "an API group like apps", is_group),
        resources: like(
            &resources?,
            "a resource in the plural like deployments",
            is_resource,
        ),
        verbs: verbs?
            .iter()
            .filter_map(|verb| verb.choice(&VERBS).and_then(|()| verb.text()))
            .map(str::to_owned)
            .collect(),
        namespaces,
        resource_names: names.unwrap_or_default(),
        position: item.position(),
    })
}

fn at_least_one<'a>(item: &Item<'a>) -> Option<Vec<Item<'a>>> {
    let items = item.items()?;
    if items.is_empty() {
        item.error("expected at least one", "");
    }
    Some(items)
}

fn is_namespace(text: &str) -> bool {
    text == "*" || is_dns_label(text)
}

/// Returns whether the API accepts a name as a segment of a path.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !matches!(text, "." | "..") && !text.contains(['/', '%'])
}

fn texts(item: &Item<'_>, expected: &str, valid: fn(&str) -> bool) -> Vec<String> {
    like(&item.items().unwrap_or_default(), expected, valid)
}

fn like(items: &[Item<'_>], expected: &str, valid: fn(&str) -> bool) -> Vec<String> {
    let texts = items
        .iter()
        .filter_map(|item| item.text_like(expected, valid));
    texts.map(str::to_owned).collect()
}

fn is_group(text: &str) -> bool {
    text.is_empty() || text == "*" || is_dns_subdomain(text)
}

fn is_resource(text: &str) -> bool {
    text.split('/').count() <= 2
        && text
            .split('/')
            .all(|part| part == "*" || is_dns_label(part))
}

/// `DB_HOST`, `RELATED_IMAGE_*`
fn is_variable(text: &str) -> bool {
    let name = text.strip_suffix('*').unwrap_or(text);
    !text.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `api.example.com`, `api.example.com:8443`, `*.example.com`, `10.0.0.1`
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let host = host.strip_prefix("*.").unwrap_or(host);
    is_dns_subdomain(host) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}
