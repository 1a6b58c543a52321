#!/usr/bin/env python3
"""Writes builtin.json, the table of built-in resources, from a running Kubernetes API server.

usage: KUBECONFIG=... recipe.py > builtin.json

What a server says of itself: its aggregated discovery, the storage version hashes of its legacy
discovery, and the priorities of its APIServices.
"""
import json
import subprocess


def get(path):
    return json.loads(subprocess.check_output(["kubectl", "get", "--raw", path]))


def resources(path):
    """The resources of one group version; subresources within their resource."""
    found = {}
    for entry in get(path)["resources"]:
        name, _, subresource = entry["name"].partition("/")
        if subresource:
            # Some subresources exist without the resource being listed before them.
            found[name].setdefault("subresources", []).append({
                "name": subresource,
                "kind": entry["kind"],
                **{key: entry[key] for key in ("group", "version") if key in entry},
                "verbs": entry["verbs"],
            })
            continue
        kept = ("kind", "verbs", "shortNames", "categories", "storageVersionHash", "group", "version")
        found[name] = {
            "name": name,
            "singular": entry["singularName"],
            "namespaced": entry["namespaced"],
            **{key: entry[key] for key in kept if key in entry},
        }
    return list(found.values())


def main():
    services = get("/apis/apiregistration.k8s.io/v1/apiservices")["items"]
    priorities = {
        (s["spec"].get("group", ""), s["spec"]["version"]):
        (s["spec"]["groupPriorityMinimum"], s["spec"]["versionPriority"])
        for s in services
    }
    groups = [{"name": "", "versions": [{"version": "v1"}]}] + get("/apis")["groups"]
    table = []
    for group in groups:
        versions = []
        for version in group["versions"]:
            version = version["version"]
            path = f"/apis/{group['name']}/{version}" if group["name"] else f"/api/{version}"
            # The aggregator's own group has no APIService; its discovery puts it first.
            minimum, priority = priorities.get((group["name"], version), (20000, 18))
            versions.append({"name": version, "priority": priority, "resources": resources(path)})
        table.append({"name": group["name"], "priority": minimum, "versions": versions})
    lines = ",\n".join(json.dumps(group, separators=(",", ":")) for group in table)
    print(f"[\n{lines}\n]")


main()
