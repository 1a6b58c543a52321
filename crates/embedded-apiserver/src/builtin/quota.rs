//! The resources that objects use, as quotas count them.
//!
//! <https://kubernetes.io/docs/concepts/policy/resource-quotas/>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::path::{items, text};
use super::quantity::Quantity;

/// Amounts by the name of the resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// The kinds whose objects also count under their plural.
const COUNTED: [&str; 7] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "pods",
];

/// The resources of containers.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The resources that each container must name if a quota limits them.
const REQUIRED: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

/// Returns what an object of a resource such as `deployments.apps` uses.
pub(crate) fn usage(id: &str, object: &Value) -> Amounts {
    let one = Quantity::whole(1);
    let mut amounts = Amounts::from([(format!("count/{id}"), one)]);
    if id == "pods" {
        if !matches!(text(object, &["status", "phase"]), "Succeeded" | "Failed") {
            amounts.extend(of_pod(&object["spec"]));
        }
        return amounts;
    }
    if COUNTED.contains(&id) {
        amounts.insert(id.to_owned(), one);
    }
    match id {
        "services" => amounts.extend(of_service(&object["spec"])),
        "persistentvolumeclaims" => amounts.extend(of_claim(object)),
        _ => {}
    }
    amounts
}

/// Returns whether a quota can limit a resource by this name.
pub(crate) fn is_known(name: &str) -> bool {
    COUNTED.contains(&name)
        || COMPUTE.contains(&name)
        || matches!(name, "services.loadbalancers" | "services.nodeports")
        || name.starts_with("hugepages-")
        || name.contains(".storageclass.storage.k8s.io/")
        || ["count/", "requests.", "limits."]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Returns whether a quota with these names limits what an object uses.
pub(crate) fn limits(names: &BTreeSet<&str>, id: &str, usage: &Amounts) -> bool {
    names.iter().any(|name| {
        let is_of_pod = id == "pods"
            && (COMPUTE.contains(name)
                || name.starts_with("requests.")
                || name.starts_with("limits."));
        usage.contains_key(*name) || is_of_pod && *name != "requests.storage"
    })
}

/// Returns whether all scopes of a quota match an object. Only Pods have scopes.
pub(crate) fn matches_scopes(quota: &Value, id: &str, object: &Value) -> bool {
    let scopes = items(&quota["spec"]["scopes"]).iter();
    let mut scopes = scopes.map(|scope| (scope.as_str().unwrap_or_default(), &Value::Null));
    let selectors = items(&quota["spec"]["scopeSelector"]["matchExpressions"]).iter();
    let mut selectors = selectors.map(|one| (text(one, &["scopeName"]), one));
    let matches =
        |(scope, selector): (&str, &Value)| id == "pods" && in_scope(scope, selector, object);
    scopes.all(matches) && selectors.all(matches)
}

fn in_scope(scope: &str, selector: &Value, pod: &Value) -> bool {
    let best_effort = text(pod, &["status", "qosClass"]) == "BestEffort";
    let terminating = pod["spec"]["activeDeadlineSeconds"].is_number();
    match scope {
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "BestEffort" => best_effort,
        "NotBestEffort" => !best_effort,
        "PriorityClass" => has_class(selector, text(pod, &["spec", "priorityClassName"])),
        "CrossNamespacePodAffinity" => crosses_namespaces(&pod["spec"]["affinity"]),
        _ => false,
    }
}

fn has_class(selector: &Value, class: &str) -> bool {
    let is_listed = || items(&selector["values"]).iter().any(|one| one == class);
    match text(selector, &["operator"]) {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "DoesNotExist" => class.is_empty(),
        _ => !class.is_empty(),
    }
}

fn crosses_namespaces(affinity: &Value) -> bool {
    let crosses = |term: &Value| {
        !items(&term["namespaces"]).is_empty() || !term["namespaceSelector"].is_null()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let required = items(&affinity[*kind]["requiredDuringSchedulingIgnoredDuringExecution"]);
        let preferred = items(&affinity[*kind]["preferredDuringSchedulingIgnoredDuringExecution"]);
        required.iter().any(crosses) || preferred.iter().any(|one| crosses(&one["podAffinityTerm"]))
    })
}

/// Returns the compute resources that a quota limits and containers do not name, with the names of the
/// containers.
pub(crate) fn unnamed(names: &BTreeSet<&str>, spec: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut missing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let has_own = ["requests", "limits"]
        .iter()
        .any(|part| spec["resources"][*part].is_object());
    if has_own {
        return missing;
    }
    let containers = items(&spec["containers"]).iter();
    for container in containers.chain(items(&spec["initContainers"])) {
        let resources = &container["resources"];
        let named = named(
            &amounts(&resources["requests"]),
            &amounts(&resources["limits"]),
        );
        for name in REQUIRED.iter().filter(|name| names.contains(*name)) {
            if !named.contains_key(*name) {
                let containers = missing.entry((*name).to_owned()).or_default();
                containers.insert(text(container, &["name"]).to_owned());
            }
        }
    }
    missing
}

fn of_pod(spec: &Value) -> Amounts {
    let mut amounts = named(
        &of_containers(spec, "requests"),
        &of_containers(spec, "limits"),
    );
    amounts.insert("pods".to_owned(), Quantity::whole(1));
    amounts
}

/// Returns requests and limits under the names that quotas have for them.
fn named(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut named = Amounts::new();
    for (name, amount) in requests {
        let is_compute = COMPUTE.contains(&name.as_str()) || name.starts_with("hugepages-");
        if is_compute {
            named.insert(name.clone(), *amount);
        }
        // Other names are those of extended resources.
        if is_compute || name.contains('/') {
            named.insert(format!("requests.{name}"), *amount);
        }
    }
    for (name, amount) in limits {
        if COMPUTE.contains(&name.as_str()) {
            named.insert(format!("limits.{name}"), *amount);
        }
    }
    named
}

/// Returns what the containers of a Pod request, or what limits them.
///
/// <https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers>
fn of_containers(spec: &Value, part: &str) -> Amounts {
    let mut total = Amounts::new();
    for container in items(&spec["containers"]) {
        add(&mut total, &amounts(&container["resources"][part]));
    }
    let (mut sidecars, mut initial) = (Amounts::new(), Amounts::new());
    for container in items(&spec["initContainers"]) {
        let own = amounts(&container["resources"][part]);
        if container["restartPolicy"] == "Always" {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            raise(&mut initial, &sidecars);
        } else {
            let mut together = own;
            add(&mut together, &sidecars);
            raise(&mut initial, &together);
        }
    }
    raise(&mut total, &initial);
    total.extend(amounts(&spec["resources"][part]));
    for (name, amount) in amounts(&spec["overhead"]) {
        if part == "requests" || total.contains_key(&name) {
            add(&mut total, &Amounts::from([(name, amount)]));
        }
    }
    total
}

fn of_service(spec: &Value) -> Amounts {
    let ports = items(&spec["ports"]);
    let with_node_port = ports.iter().filter(|port| port["nodePort"].is_number());
    let (balancers, node_ports) = match text(spec, &["type"]) {
        "NodePort" => (0, ports.len()),
        "LoadBalancer" if spec["allocateLoadBalancerNodePorts"] == false => {
            (1, with_node_port.count())
        }
        "LoadBalancer" => (1, ports.len()),
        _ => (0, 0),
    };
    Amounts::from([
        (
            "services.loadbalancers".to_owned(),
            Quantity::whole(balancers),
        ),
        ("services.nodeports".to_owned(), Quantity::whole(node_ports)),
    ])
}

fn of_claim(claim: &Value) -> Amounts {
    let annotation = "volume.beta.kubernetes.io/storage-class";
    let class = match text(claim, &["metadata", "annotations", annotation]) {
        "" => text(claim, &["spec", "storageClassName"]),
        class => class,
    };
    let prefix = (!class.is_empty()).then(|| format!("{class}.storageclass.storage.k8s.io/"));
    let mut used = Amounts::new();
    if let Some(prefix) = &prefix {
        let name = format!("{prefix}persistentvolumeclaims");
        used.insert(name, Quantity::whole(1));
    }
    let requests = amounts(&claim["spec"]["resources"]["requests"]);
    if let Some(storage) = requests.get("storage") {
        used.insert("requests.storage".to_owned(), *storage);
        if let Some(prefix) = prefix {
            used.insert(format!("{prefix}requests.storage"), *storage);
        }
    }
    used
}

/// Parses a map of quantities.
pub(crate) fn amounts(map: &Value) -> Amounts {
    let parsed = |(name, amount): (&String, &Value)| {
        let text = match amount {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((name.clone(), text.parse().ok()?))
    };
    map.as_object()
        .into_iter()
        .flatten()
        .filter_map(parsed)
        .collect()
}

/// Adds amounts to others.
pub(crate) fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = match total.get(name) {
            Some(known) => known.plus(*amount),
            None => *amount,
        };
        total.insert(name.clone(), sum);
    }
}

/// Replaces amounts by those that are higher.
fn raise(total: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if total
            .get(name)
            .is_none_or(|known| known.nano() < amount.nano())
        {
            total.insert(name.clone(), *amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(amounts: &Amounts) -> Value {
        amounts
            .iter()
            .map(|(name, amount)| (name.clone(), json!(amount.canonical())))
            .collect()
    }

    #[test]
    fn init_containers_run_before_the_others_and_sidecars_beside_them() {
        let requests = |cpu: &str| json!({"requests": {"cpu": cpu, "ex.io/x": "1"}});
        let pod = json!({"spec": {
            "initContainers": [
                {"resources": requests("100m"), "restartPolicy": "Always"},
                {"resources": requests("2")},
            ],
            "containers": [{"resources": requests("500m")}, {"resources": {"limits": {"cpu": "1"}}}],
        }});
        let expected = json!({
            "count/pods": "1",
            "pods": "1",
            "cpu": "2100m",
            "requests.cpu": "2100m",
            "requests.ex.io/x": "2",
            "limits.cpu": "1",
        });
        assert_eq!(written(&usage("pods", &pod)), expected);
    }

    #[test]
    fn a_finished_pod_uses_no_compute_resources() {
        let pod = json!({"status": {"phase": "Failed"}, "spec": {"containers": []}});
        assert_eq!(written(&usage("pods", &pod)), json!({"count/pods": "1"}));
    }

    #[test]
    fn services_and_claims_use_ports_and_storage() {
        let service =
            json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}});
        let used = written(&usage("services", &service));
        assert_eq!(
            (&used["services.nodeports"], &used["services.loadbalancers"]),
            (&json!("2"), &json!("1"))
        );
        let claim = json!({"spec": {"storageClassName": "s", "resources": {"requests": {"storage": "1Gi"}}}});
        let used = written(&usage("persistentvolumeclaims", &claim));
        assert_eq!(
            used["s.storageclass.storage.k8s.io/requests.storage"],
            "1Gi"
        );
    }
}
