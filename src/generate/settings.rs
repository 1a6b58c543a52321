//! Parses `deploy/settings.yaml`: the choices that the generated files need and the roles do not contain.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, Item, Keys};
use crate::model::syntax::is_dns_label;
use crate::regular_file;
use crate::role::{ApiRule, api_rule};

const KEYS: Keys = Keys {
    known: &[
        "name",
        "namespace",
        "image",
        "replicas",
        "resources",
        "watchNamespaces",
        "apiServerPorts",
        "monitoring",
        "version",
        "description",
        "provider",
        "email",
        "permissions",
        "recorded",
    ],
    refused: &[],
};

const DEFAULT_VERSION: &str = "0.1.0";

/// The settings of the generated files. Each has a default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// The name of the operator's objects.
    pub(crate) name: String,
    /// The namespace that the operator runs in.
    pub(crate) namespace: String,
    /// The image with its tag.
    pub(crate) image: String,
    pub(crate) replicas: u64,
    /// `resources` of the manager's container.
    pub(crate) resources: Map<String, Value>,
    /// The namespaces that the operator watches; empty for all.
    pub(crate) watch_namespaces: Vec<String>,
    /// The ports of the API server's endpoints, which the network policy allows.
    pub(crate) api_server_ports: Vec<u64>,
    /// True if the files for Prometheus and Grafana are generated.
    pub(crate) monitoring: bool,
    /// The version of the Helm chart and of the OLM bundle, by Semantic Versioning.
    pub(crate) version: String,
    /// The description of the Helm chart and of the OLM bundle.
    pub(crate) description: String,
    /// The provider in the OLM bundle.
    pub(crate) provider: String,
    /// The address of the maintainer in the OLM bundle.
    pub(crate) email: String,
    /// Permissions beside those that the roles are known to need.
    pub(crate) permissions: Vec<ApiRule>,
    /// The permissions that scenario tests recorded.
    pub(crate) recorded: Vec<ApiRule>,
}

impl Default for Settings {
    fn default() -> Self {
        let resources = json!({
            "limits": {"cpu": "1", "memory": "256Mi"},
            "requests": {"cpu": "50m", "memory": "64Mi"},
        });
        Self {
            name: "rhai-operator".to_owned(),
            namespace: "rhai-operator-system".to_owned(),
            image: "rhai-operator:latest".to_owned(),
            replicas: 1,
            resources: resources.as_object().cloned().unwrap_or_default(),
            watch_namespaces: Vec::new(),
            api_server_ports: vec![443, 6443],
            monitoring: false,
            version: DEFAULT_VERSION.to_owned(),
            description: description_of("rhai-operator"),
            provider: "Example".to_owned(),
            email: "maintainers@example.com".to_owned(),
            permissions: Vec::new(),
            recorded: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns the settings of a new project, as [`super::scaffold::project_files`] writes them.
    pub(crate) fn of_new_project(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: format!("{name}-system"),
            image: format!("registry.example.com/{name}:0.1.0"),
            description: description_of(name),
            ..Self::default()
        }
    }

    /// Reads a file. Returns the defaults if it does not exist. Fails with all errors.
    pub(crate) fn read(file: &Path) -> Result<Self, Vec<Diagnostic>> {
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = regular_file::read_text(file).map_err(|error| {
            let message = format!("cannot read: {error}");
            vec![Diagnostic::error(file, 0, 0, message)]
        })?;
        let diagnostics = Diagnostics::new(file);
        let (mut settings, recorded) = Self::parse(&text, &diagnostics);
        let diagnostics = diagnostics.into_vec();
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(diagnostics);
        }
        if let Some(name) = recorded {
            let recorded = regular_file::folder_of(file).join(name);
            settings.recorded = read_rules(&recorded)?;
        }
        Ok(settings)
    }

    /// Returns the settings, and the name of the file with recorded permissions.
    fn parse(text: &str, diagnostics: &Diagnostics) -> (Self, Option<String>) {
        let default = Self::default();
        let root = diagnostics.parse(text);
        let Some(fields) = root
            .as_ref()
            .filter(|root| !root.to_value().is_null())
            .and_then(|root| Item::root(root, diagnostics).fields(KEYS))
        else {
            return (default, None);
        };
        let label = |key: &str| {
            let item = fields.get(key)?;
            let text =
                item.text_like("a name of lower-case letters, digits and -", is_dns_label)?;
            Some(text.to_owned())
        };
        let name = label("name").unwrap_or(default.name);
        let image = fields
            .get("image")
            .and_then(|item| item.text_like("an image such as registry/name:tag", is_image));
        let list = |key: &str| fields.get(key).and_then(|item| item.items());
        let namespaces = list("watchNamespaces").unwrap_or_default();
        let namespaces = namespaces
            .iter()
            .filter_map(|item| item.text_like("the name of a namespace", is_dns_label));
        let image = image.map_or_else(|| format!("{name}:latest"), str::to_owned);
        let version = fields
            .get("version")
            .and_then(|item| item.text_like("a version such as 1.2.3", is_version));
        let text = |key: &str| fields.get(key).and_then(|item| item.text());
        let ports = list("apiServerPorts");
        let ports = ports.map(|ports| ports.iter().filter_map(port).collect());
        let permissions = list("permissions").unwrap_or_default();
        let recorded = fields.get("recorded").and_then(|item| item.text());
        let settings = Self {
            namespace: label("namespace").unwrap_or_else(|| format!("{name}-system")),
            version: version.map_or_else(|| version_of(&image), str::to_owned),
            description: text("description").map_or_else(|| description_of(&name), str::to_owned),
            provider: text("provider").map_or(default.provider, str::to_owned),
            email: text("email").map_or(default.email, str::to_owned),
            image,
            replicas: fields
                .get("replicas")
                .and_then(|item| item.count(1))
                .unwrap_or(default.replicas),
            resources: fields
                .get("resources")
                .and_then(|item| item.map())
                .unwrap_or(default.resources),
            watch_namespaces: namespaces.map(str::to_owned).collect(),
            api_server_ports: ports.unwrap_or(default.api_server_ports),
            monitoring: fields
                .get("monitoring")
                .and_then(|item| item.flag())
                .unwrap_or(default.monitoring),
            permissions: permissions.iter().filter_map(api_rule).collect(),
            recorded: Vec::new(),
            name,
        };
        (settings, recorded.map(str::to_owned))
    }
}

/// Reads a list of rules of RBAC. Fails with all errors.
fn read_rules(file: &Path) -> Result<Vec<ApiRule>, Vec<Diagnostic>> {
    let text = regular_file::read_text(file).map_err(|error| {
        let message = format!("cannot read: {error}");
        let hint = "write it with `rhai-operator test --record-rbac`";
        vec![Diagnostic::error(file, 0, 0, message).hint(hint)]
    })?;
    let diagnostics = Diagnostics::new(file);
    let root = diagnostics.parse(&text);
    let root = root.as_ref().filter(|root| !root.to_value().is_null());
    let items = root.and_then(|root| Item::root(root, &diagnostics).items());
    let rules = items
        .unwrap_or_default()
        .iter()
        .filter_map(api_rule)
        .collect();
    let diagnostics = diagnostics.into_vec();
    if diagnostics.is_empty() {
        Ok(rules)
    } else {
        Err(diagnostics)
    }
}

fn is_image(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

fn is_version(text: &str) -> bool {
    semver::Version::parse(text).is_ok()
}

/// Returns the tag of an image, if it is a version.
fn version_of(image: &str) -> String {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    let version = semver::Version::parse(tag);
    version.map_or_else(|_| DEFAULT_VERSION.to_owned(), |it| it.to_string())
}

fn description_of(name: &str) -> String {
    format!("The operator {name}.")
}

/// Parses the number of a port.
fn port(item: &Item<'_>) -> Option<u64> {
    let port = item.count(1)?;
    if u16::try_from(port).is_err() {
        item.unexpected("a port from 1 to 65535", "");
        return None;
    }
    Some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_default_that_follows_the_name() {
        let diagnostics = Diagnostics::new("settings.yaml");
        let (settings, _) = Settings::parse("name: shop\nreplicas: 2\n", &diagnostics);
        assert_eq!(diagnostics.into_vec(), []);
        let expected = Settings {
            name: "shop".into(),
            namespace: "shop-system".into(),
            image: "shop:latest".into(),
            description: "The operator shop.".into(),
            replicas: 2,
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn the_settings_of_a_new_project_are_those_of_its_file() {
        let files = crate::generate::scaffold::project_files("shop.example.com", "shop").unwrap();
        let file = files
            .iter()
            .find(|file| file.path.ends_with("settings.yaml"));
        let diagnostics = Diagnostics::new("settings.yaml");
        let (settings, _) = Settings::parse(&file.unwrap().text, &diagnostics);
        assert_eq!(diagnostics.into_vec(), []);
        assert_eq!(settings, Settings::of_new_project("shop"));
    }

    #[test]
    fn an_error_has_its_place_and_a_hint() {
        let diagnostics = Diagnostics::new("settings.yaml");
        Settings::parse(
            "replica: 2\nreplicas: 0\nname: A b\napiServerPorts: [443, 70000]\n",
            &diagnostics,
        );
        let lines: Vec<_> = diagnostics
            .into_vec()
            .iter()
            .map(ToString::to_string)
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
