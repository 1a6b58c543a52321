#!/usr/bin/env python3
"""Writes columns.json, the columns of built-in kinds, from a running Kubernetes API server.

usage: KUBECONFIG=... recipe.py > columns.json

Keys are resources as `deployments.apps`; a column is name, type, format, priority, description.
"""
import json
import subprocess

KINDS = """
configmaps daemonsets.apps deployments.apps endpoints events jobs.batch cronjobs.batch namespaces nodes
persistentvolumeclaims persistentvolumes pods replicasets.apps replicationcontrollers secrets
serviceaccounts services statefulsets.apps ingresses.networking.k8s.io roles.rbac.authorization.k8s.io
rolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io
clusterrolebindings.rbac.authorization.k8s.io leases.coordination.k8s.io storageclasses.storage.k8s.io
poddisruptionbudgets.policy horizontalpodautoscalers.autoscaling networkpolicies.networking.k8s.io
ingressclasses.networking.k8s.io priorityclasses.scheduling.k8s.io endpointslices.discovery.k8s.io
customresourcedefinitions.apiextensions.k8s.io
""".split()


def get(path):
    return json.loads(subprocess.check_output(["kubectl", "get", "--raw", path]))


def main():
    proxy = subprocess.Popen(["kubectl", "proxy", "--port=18765"], stdout=subprocess.PIPE)
    proxy.stdout.readline()
    preferred = {group["name"]: group["preferredVersion"]["version"] for group in get("/apis")["groups"]}
    table = {}
    for kind in KINDS:
        plural, _, group = kind.partition(".")
        path = f"apis/{group}/{preferred[group]}" if group else "api/v1"
        answer = subprocess.check_output([
            "curl", "-s", "-H", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io",
            f"http://127.0.0.1:18765/{path}/{plural}?limit=1",
        ])
        columns = json.loads(answer)["columnDefinitions"]
        table[kind] = [[c[key] for key in ("name", "type", "format", "priority", "description")] for c in columns]
    proxy.terminate()
    lines = ",\n".join(f"{json.dumps(kind)}:{json.dumps(columns, separators=(',', ':'))}" for kind, columns in sorted(table.items()))
    print("{\n" + lines + "\n}")


main()
