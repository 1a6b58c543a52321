//! Allocates cluster IPs and node ports of Services from fixed ranges.
//!
//! The caller knows which of them are in use. The ranges are the defaults of a real cluster.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::path::{items, text};
use crate::error::{ApiError, FieldError};

/// The range of node ports.
const FIRST_NODE_PORT: i64 = 30_000;
const LAST_NODE_PORT: i64 = 32_767;

/// The first cluster IP, which belongs to the Service of the API server.
pub(crate) const SERVER_ADDRESS: &str = "10.96.0.1";

/// The range of allocated cluster IPs within 10.96.0.0/16.
const FIRST_ADDRESS: u32 = 2;
const LAST_ADDRESS: u32 = 65_534;

/// The range of all valid cluster IPs.
const RANGE: &str = "10.96.0.0/12";

fn is_in_range(address: &str) -> bool {
    let address = address.parse::<std::net::Ipv4Addr>().map(u32::from);
    address.is_ok_and(|address| {
        address >> 20 == u32::from(std::net::Ipv4Addr::new(10, 96, 0, 0)) >> 20
    })
}

/// The addresses and ports of other Services.
#[derive(Debug, Default)]
pub(crate) struct AllocatedAddresses {
    addresses: BTreeSet<String>,
    ports: BTreeSet<i64>,
}

impl AllocatedAddresses {
    /// Collects the addresses and ports of Services.
    pub(crate) fn collect<'a>(services: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut taken = Self::default();
        for service in services {
            let spec = &service["spec"];
            let addresses = items(&spec["clusterIPs"]).iter().filter_map(Value::as_str);
            taken.addresses.extend(addresses.map(str::to_owned));
            let ports = items(&spec["ports"]).iter();
            taken
                .ports
                .extend(ports.filter_map(|port| port["nodePort"].as_i64()));
            taken.ports.extend(spec["healthCheckNodePort"].as_i64());
        }
        taken
    }

    fn next_address(&self) -> Option<String> {
        (FIRST_ADDRESS..=LAST_ADDRESS)
            .map(|number| format!("10.96.{}.{}", number / 256, number % 256))
            .find(|address| !self.addresses.contains(address))
    }

    fn next_port(&mut self) -> Option<i64> {
        let port = (FIRST_NODE_PORT..=LAST_NODE_PORT).find(|port| !self.ports.contains(port))?;
        self.ports.insert(port);
        Some(port)
    }
}

/// Allocates the addresses, IP families and node ports of a Service that has its defaults and is valid.
pub(crate) fn allocate(object: &mut Value, taken: &mut AllocatedAddresses) -> Result<(), ApiError> {
    let kind = text(object, &["spec", "type"]).to_owned();
    let name = text(object, &["metadata", "name"]).to_owned();
    let invalid = |error: FieldError| ApiError::invalid("", "Service", &name, &[error]);
    if kind == "ExternalName" {
        if let Value::Object(spec) = &mut object["spec"] {
            for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                spec.remove(field);
            }
        }
        return Ok(());
    }
    allocate_address(object, taken).map_err(invalid)?;
    let exposed = kind == "NodePort"
        || kind == "LoadBalancer"
            && object["spec"]["allocateLoadBalancerNodePorts"] != json!(false);
    if exposed {
        allocate_ports(object, taken).map_err(invalid)?;
        let spec = &mut object["spec"];
        let local = text(spec, &["externalTrafficPolicy"]) == "Local" && kind == "LoadBalancer";
        if local && spec["healthCheckNodePort"].is_null() {
            spec["healthCheckNodePort"] = json!(taken.next_port());
        }
    } else if let Some(Value::Array(ports)) = object["spec"].get_mut("ports")
        && kind == "ClusterIP"
    {
        for port in ports.iter_mut().filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    Ok(())
}

fn allocate_address(object: &mut Value, taken: &AllocatedAddresses) -> Result<(), FieldError> {
    let spec = &mut object["spec"];
    let asked = match text(spec, &["clusterIP"]) {
        "" => items(&spec["clusterIPs"])
            .first()
            .and_then(Value::as_str)
            .unwrap_or_default(),
        asked => asked,
    };
    let address = match asked {
        "" => taken.next_address().ok_or_else(|| {
            let detail = "failed to allocate IP: range is full";
            FieldError::invalid("spec.clusterIPs", json!([]), detail)
        })?,
        "None" => "None".to_owned(),
        asked if taken.addresses.contains(asked) => {
            let detail = format!("failed to allocate IP {asked}: provided IP is already allocated");
            return Err(FieldError::invalid(
                "spec.clusterIPs",
                json!([asked]),
                detail,
            ));
        }
        asked if !is_in_range(asked) => {
            let detail = format!(
                "failed to allocate IP {asked}: the provided IP ({asked}) is not in the valid range. \
                 The range of valid IPs is {RANGE}"
            );
            return Err(FieldError::invalid(
                "spec.clusterIPs",
                json!([asked]),
                detail,
            ));
        }
        asked => asked.to_owned(),
    };
    let headless_without_selector = address == "None" && spec["selector"].is_null();
    spec["clusterIP"] = json!(address);
    spec["clusterIPs"] = json!([address]);
    if spec["ipFamilies"].is_null() {
        let (families, policy) = if headless_without_selector {
            (json!(["IPv4", "IPv6"]), "RequireDualStack")
        } else {
            (json!(["IPv4"]), "SingleStack")
        };
        spec["ipFamilies"] = families;
        if spec["ipFamilyPolicy"].is_null() {
            spec["ipFamilyPolicy"] = json!(policy);
        }
    }
    if spec["ipFamilyPolicy"].is_null() {
        spec["ipFamilyPolicy"] = json!("SingleStack");
    }
    Ok(())
}

fn allocate_ports(object: &mut Value, taken: &mut AllocatedAddresses) -> Result<(), FieldError> {
    let Some(Value::Array(ports)) = object["spec"].get_mut("ports") else {
        return Ok(());
    };
    // Requested node ports come first, so that none is allocated to another port of the same Service.
    for (at, port) in ports.iter().enumerate() {
        let Some(asked) = port["nodePort"].as_i64().filter(|port| *port != 0) else {
            continue;
        };
        let path = format!("spec.ports[{at}].nodePort");
        if !(FIRST_NODE_PORT..=LAST_NODE_PORT).contains(&asked) {
            let detail = format!(
                "provided port is not in the valid range. The range of valid ports is \
                 {FIRST_NODE_PORT}-{LAST_NODE_PORT}"
            );
            return Err(FieldError::invalid(path, asked, detail));
        }
        if !taken.ports.insert(asked) {
            return Err(FieldError::invalid(
                path,
                asked,
                "provided port is already allocated",
            ));
        }
    }
    for (at, port) in ports.iter_mut().enumerate() {
        if port["nodePort"].as_i64().unwrap_or_default() != 0 {
            continue;
        }
        let free = taken.next_port().ok_or_else(|| {
            let detail = "range is full";
            FieldError::invalid(format!("spec.ports[{at}].nodePort"), 0, detail)
        })?;
        port["nodePort"] = json!(free);
    }
    Ok(())
}
