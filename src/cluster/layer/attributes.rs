//! Parses the verb and the resource of a request from its method and path, as the API server does.

use std::borrow::Cow;

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

use crate::model::field_selector::FieldSelector;

/// The verb and the resource of a request in the terms of RBAC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'static str,
    pub(crate) group: &'a str,
    /// The plural, without subresource.
    pub(crate) resource: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    query: &'a str,
}

impl<'a> Attributes<'a> {
    /// The name of the object. A list or watch can have it in its field selector.
    pub(super) fn name(&self) -> Cow<'a, str> {
        if !self.name.is_empty() || !matches!(self.verb, "list" | "watch") {
            return Cow::Borrowed(self.name);
        }
        let parameters = self.query.split('&');
        let mut selectors = parameters.filter_map(|pair| pair.strip_prefix("fieldSelector="));
        let selector = selectors.next().and_then(|text| {
            let text = percent_decode_str(text).decode_utf8().ok()?;
            text.parse::<FieldSelector>().ok()
        });
        let name = selector.as_ref().and_then(FieldSelector::name);
        Cow::Owned(name.unwrap_or_default().to_owned())
    }
}

/// Parses a request; `None` if it is not for a resource: discovery, health, version.
pub(crate) fn parse<'a>(method: &Method, uri: &'a Uri) -> Option<Attributes<'a>> {
    let mut segments = uri.path().split('/').filter(|s| !s.is_empty());
    let group = match segments.next()? {
        "api" => "",
        "apis" => segments.next()?,
        _ => return None,
    };
    let _version = segments.next()?;
    let rest: Vec<_> = segments.collect();
    let (namespace, resource, rest) = match *rest.as_slice() {
        // Distinguishes a namespace and its subresources from the resources in it.
        ["namespaces", name] | ["namespaces", name, "status" | "finalize"] => {
            (name, "namespaces", &rest[1..])
        }
        ["namespaces", namespace, resource, ..] => (namespace, resource, &rest[3..]),
        [resource, ..] => ("", resource, &rest[1..]),
        [] => return None,
    };
    let name = rest.first().copied().unwrap_or_default();
    Some(Attributes {
        verb: verb(method, uri, name),
        group,
        resource,
        subresource: rest.get(1).copied(),
        namespace,
        name,
        query: uri.query().unwrap_or_default(),
    })
}

fn verb(method: &Method, uri: &Uri, name: &str) -> &'static str {
    let watches = || {
        let query = uri.query().unwrap_or_default();
        query
            .split('&')
            .any(|pair| matches!(pair, "watch=true" | "watch=1"))
    };
    match (method.as_str(), name.is_empty()) {
        ("GET" | "HEAD", _) if watches() => "watch",
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        _ => "delete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(method: &str, uri: &str) -> String {
        let uri = uri.parse().unwrap();
        match parse(&method.parse().unwrap(), &uri) {
            None => "none".to_owned(),
            Some(a) => format!(
                "{} {}.{}/{} {}/{}",
                a.verb,
                a.resource,
                a.group,
                a.subresource.unwrap_or_default(),
                a.namespace,
                a.name
            ),
        }
    }

    #[test]
    fn a_list_of_one_name_has_it() {
        let name = |uri: &str| {
            parse(&Method::GET, &uri.parse().unwrap())
                .unwrap()
                .name()
                .into_owned()
        };
        let list = "/api/v1/namespaces/n/pods?limit=5&fieldSelector=";
        assert_eq!(name(&format!("{list}metadata.name%3Da")), "a");
        assert_eq!(name(&format!("{list}metadata.name%21%3Da")), "");
        assert_eq!(name("/api/v1/namespaces/n/pods"), "");
        assert_eq!(name("/api/v1/namespaces/n/pods/p"), "p");
    }

    #[test]
    fn requests_are_read_as_the_server_reads_them() {
        let cases = [
            ("GET", "/api/v1/namespaces/n/pods/p?x=1", "get pods./ n/p"),
            ("GET", "/api/v1/namespaces/n/pods", "list pods./ n/"),
            ("GET", "/api/v1/pods?watch=true&a=b", "watch pods./ /"),
            ("GET", "/api/v1/namespaces", "list namespaces./ /"),
            ("GET", "/api/v1/namespaces/n", "get namespaces./ n/n"),
            (
                "PUT",
                "/api/v1/namespaces/n/finalize",
                "update namespaces./finalize n/n",
            ),
            (
                "POST",
                "/apis/apps/v1/namespaces/n/deployments",
                "create deployments.apps/ n/",
            ),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/n/deployments/d/scale",
                "patch deployments.apps/scale n/d",
            ),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/n/deployments",
                "deletecollection deployments.apps/ n/",
            ),
            ("DELETE", "/apis/g/v1/things/t", "delete things.g/ /t"),
            ("GET", "/apis/g/v1", "none"),
            ("GET", "/api", "none"),
            ("GET", "/version", "none"),
        ];
        for (method, uri, expected) in cases {
            assert_eq!(words(method, uri), expected, "{method} {uri}");
        }
    }
}
