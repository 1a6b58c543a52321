//! Parses the paths of requests.

use percent_encoding::percent_decode_str;

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A discovery document: `/api` and `/apis`, `/api/v1`, `/apis/apps`, `/apis/apps/v1`.
    Discovery(Discovery),
    /// A collection, an object or a subresource.
    Resource(Path),
    /// Any other path: `/healthz`, `/version`, `/openapi/v3`.
    Other(String),
}

/// A discovery document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Discovery {
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/apps`
    Group(String),
    /// `/apis/apps/v1`, `/api/v1`
    Version(String, String),
}

/// The path of a collection, of an object or of a subresource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) group: String,
    pub(super) version: String,
    /// True if the path has the deprecated prefix `watch/`.
    pub(super) watch: bool,
    pub(super) namespace: String,
    pub(super) plural: String,
    pub(super) name: String,
    pub(super) subresource: String,
    /// The path after the subresource, for example of a proxy.
    pub(super) rest: String,
}

impl Target {
    pub(super) fn parse(path: &str) -> Self {
        let trimmed = path.trim_matches('/');
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = trimmed.split('/').map(decoded).collect();
        let mut parts = parts.iter().map(String::as_str);
        let group = match parts.next() {
            Some("api") => "",
            Some("apis") => match parts.next() {
                None => return Self::Discovery(Discovery::Groups),
                Some(group) => group,
            },
            _ => return Self::Other(trimmed.to_owned()),
        };
        let rest: Vec<&str> = parts.collect();
        match rest.as_slice() {
            [] if group.is_empty() => Self::Discovery(Discovery::Core),
            [] => Self::Discovery(Discovery::Group(group.to_owned())),
            [version] => {
                let (group, version) = (group.to_owned(), (*version).to_owned());
                Self::Discovery(Discovery::Version(group, version))
            }
            [version, "watch", rest @ ..] if !rest.is_empty() => Self::Resource(Path {
                watch: true,
                ..Path::parse(group, version, rest)
            }),
            [version, rest @ ..] => Self::Resource(Path::parse(group, version, rest)),
        }
    }
}

impl Path {
    fn parse(group: &str, version: &str, parts: &[&str]) -> Self {
        let mut path = Self {
            group: group.to_owned(),
            version: version.to_owned(),
            ..Self::default()
        };
        // `status` and `finalize` are subresources of a namespace, not resources in it.
        let parts = match parts {
            ["namespaces", namespace, rest @ ..]
                if !rest.is_empty() && !matches!(rest, ["status" | "finalize", ..]) =>
            {
                (*namespace).clone_into(&mut path.namespace);
                rest
            }
            _ => parts,
        };
        let part = |at: usize| parts.get(at).copied().unwrap_or_default().to_owned();
        path.plural = part(0);
        path.name = part(1);
        path.subresource = part(2);
        path.rest = parts.get(3..).unwrap_or_default().join("/");
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> Path {
        match Target::parse(path) {
            Target::Resource(path) => path,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_are_found_in_every_form_of_path() {
        let path = resource("/apis/apps/v1/namespaces/n/deployments/d/scale");
        assert_eq!((&*path.group, &*path.version), ("apps", "v1"));
        assert_eq!((&*path.namespace, &*path.plural), ("n", "deployments"));
        assert_eq!((&*path.name, &*path.subresource), ("d", "scale"));
        let path = resource("/api/v1/namespaces/n/status");
        assert_eq!((&*path.namespace, &*path.plural), ("", "namespaces"));
        assert_eq!((&*path.name, &*path.subresource), ("n", "status"));
        let path = resource("/api/v1/namespaces/n");
        assert_eq!((&*path.plural, &*path.name), ("namespaces", "n"));
        let path = resource("/api/v1/watch/namespaces/n/pods");
        assert!(path.watch);
        assert_eq!((&*path.namespace, &*path.plural), ("n", "pods"));
        assert_eq!(resource("/api/v1/nodes/a%3Ab").name, "a:b");
    }

    #[test]
    fn discovery_paths_are_recognized() {
        let found = |path| Target::parse(path);
        assert_eq!(found("/api/"), Target::Discovery(Discovery::Core));
        assert_eq!(found("/apis"), Target::Discovery(Discovery::Groups));
        let version = Discovery::Version("apps".to_owned(), "v1".to_owned());
        assert_eq!(found("/apis/apps/v1"), Target::Discovery(version));
        assert_eq!(found("/healthz"), Target::Other("healthz".to_owned()));
    }
}
