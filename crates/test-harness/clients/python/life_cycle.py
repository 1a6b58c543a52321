"""Lives a life on a Kubernetes API with the official Python client, and says on standard output what
came of it: a custom kind, its objects, a watch, a workload, server-side apply by the dynamic client,
an eviction. The lines are the same on every API server that is one.

usage: life_cycle.py KUBECONFIG NAMESPACE GROUP
"""

import sys
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

# Within this time everything happens that is to happen.
SOON = 60


def main(kubeconfig, namespace, group):
    api = config.new_client_from_config(kubeconfig)
    for part in (custom_kind, custom_objects, watched, workload, applied, service):
        print("==", part.__name__.replace("_", " "))
        part(api, namespace, group)


def until(what, holds):
    """Waits until something is neither empty nor false, and gives it."""
    deadline = time.monotonic() + SOON
    while not (seen := holds()):
        if time.monotonic() > deadline:
            sys.exit(f"waited {SOON} s for {what}")
        time.sleep(0.02)
    return seen


def refused(call, *arguments, **options):
    """The status and the reason of a refusal."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        return f"{error.status} {error.reason}"
    return "accepted"


def custom_kind(api, namespace, group):
    definitions = client.ApiextensionsV1Api(api)
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer", "maximum": 9, "default": 1}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": "Gizmo", "plural": "gizmos", "singular": "gizmo"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gizmos.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    made = definitions.create_custom_resource_definition(definition)

    def established():
        live = definitions.read_custom_resource_definition(made.metadata.name)
        conditions = live.status.conditions or []
        return [one.reason for one in conditions if one.type == "Established" and one.status == "True"]

    print("established:", until("the kind", established))


def gizmo(group, name, **spec):
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Gizmo",
        "metadata": {"name": name},
        "spec": spec,
    }


def custom_objects(api, namespace, group):
    gizmos = client.CustomObjectsApi(api)
    where = (group, "v1", namespace, "gizmos")
    made = gizmos.create_namespaced_custom_object(*where, gizmo(group, "a"))
    print("created with", made["spec"])
    print("again:", refused(gizmos.create_namespaced_custom_object, *where, gizmo(group, "a")))
    print("too large:", refused(gizmos.create_namespaced_custom_object, *where, gizmo(group, "b", size=10)))
    patched = gizmos.patch_namespaced_custom_object(*where, "a", {"spec": {"size": 2}})
    print("patched to", patched["spec"], "generation", patched["metadata"]["generation"])
    made["spec"]["size"] = 3
    print("from what is stale:", refused(gizmos.replace_namespaced_custom_object, *where, "a", made))
    patched = gizmos.patch_namespaced_custom_object_status(*where, "a", {"status": {"phase": "Done"}})
    print("status", patched["status"], "generation", patched["metadata"]["generation"])
    listed = gizmos.list_namespaced_custom_object(*where)
    print("listed", [one["metadata"]["name"] for one in listed["items"]], listed["kind"])


def watched(api, namespace, group):
    gizmos = client.CustomObjectsApi(api)
    where = (group, "v1", namespace, "gizmos")
    revision = gizmos.list_namespaced_custom_object(*where)["metadata"]["resourceVersion"]
    gizmos.patch_namespaced_custom_object(*where, "a", {"spec": {"size": 4}})
    gizmos.create_namespaced_custom_object(*where, gizmo(group, "b"))
    gizmos.delete_namespaced_custom_object(*where, "a")
    events = watch.Watch().stream(
        gizmos.list_namespaced_custom_object,
        *where,
        resource_version=revision,
        timeout_seconds=SOON,
    )
    told = []
    for event in events:
        told.append(f"{event['type']} {event['object']['metadata']['name']}")
        if event["type"] == "DELETED":
            break
    print("since the list:", told)


def workload(api, namespace, group):
    apps, core = client.AppsV1Api(api), client.CoreV1Api(api)
    labels = {"app": "python"}
    container = client.V1Container(
        name="c",
        image="none",
        resources=client.V1ResourceRequirements(requests={"cpu": "100m"}),
    )
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels),
        spec=client.V1PodSpec(containers=[container]),
    )
    spec = client.V1StatefulSetSpec(
        replicas=2,
        service_name="python",
        selector=client.V1LabelSelector(match_labels=labels),
        template=template,
    )
    metadata = client.V1ObjectMeta(name="python")
    made = apps.create_namespaced_stateful_set(
        namespace, client.V1StatefulSet(metadata=metadata, spec=spec)
    )
    print("a StatefulSet with", made.spec.pod_management_policy, made.spec.update_strategy.type)

    def ready(count):
        live = apps.read_namespaced_stateful_set("python", namespace)
        return live.status.ready_replicas == count and live.status.replicas == count

    def pods():
        found = core.list_namespaced_pod(namespace, label_selector="app=python")
        return [pod.metadata.name for pod in found.items]

    until("two Pods", lambda: ready(2))
    print("its Pods:", pods())
    apps.patch_namespaced_stateful_set_scale("python", namespace, {"spec": {"replicas": 1}})
    until("one Pod", lambda: ready(1) and len(pods()) == 1)
    print("scaled down:", pods())
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="python-0", namespace=namespace))
    before = core.read_namespaced_pod("python-0", namespace).metadata.uid
    core.create_namespaced_pod_eviction("python-0", namespace, eviction)

    def another():
        found = core.list_namespaced_pod(namespace, field_selector="metadata.name=python-0")
        return [pod for pod in found.items if pod.metadata.uid != before]

    until("another Pod of its name", another)
    print("evicted: made anew")
    apps.delete_namespaced_stateful_set("python", namespace, propagation_policy="Background")
    until("the end of its Pods", lambda: not pods())
    print("deleted: nothing is left")


def applied(api, namespace, group):
    kinds = dynamic.DynamicClient(api)
    maps = kinds.resources.get(api_version="v1", kind="ConfigMap")

    def apply(manager, data, **options):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "applied", "namespace": namespace},
            "data": data,
        }
        return maps.server_side_apply(body=body, field_manager=manager, **options)

    print("by one:", dict(apply("one", {"a": "1"}).data))
    print("by two:", dict(apply("two", {"b": "2"}).data))
    print("the other's field:", refused(apply, "two", {"a": "2"}))
    print("by force:", dict(apply("two", {"a": "2"}, force_conflicts=True).data))
    gizmos = kinds.resources.get(api_version=f"{group}/v1", kind="Gizmo")
    print("found by discovery:", gizmos.name, gizmos.namespaced, [one.metadata.name for one in gizmos.get(namespace=namespace).items])


def service(api, namespace, group):
    core = client.CoreV1Api(api)
    body = client.V1Service(
        metadata=client.V1ObjectMeta(name="python"),
        spec=client.V1ServiceSpec(
            type="NodePort",
            selector={"app": "python"},
            ports=[client.V1ServicePort(port=80, target_port="http")],
        ),
    )
    made = core.create_namespaced_service(namespace, body)
    port = made.spec.ports[0]
    print("a Service with", port.protocol, port.target_port, 30000 <= port.node_port < 32768)
    print("its address is fixed:", refused(
        core.patch_namespaced_service, "python", namespace, {"spec": {"clusterIP": "10.96.0.99"}}
    ))
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="python"), string_data={"key": "text"})
    print("a Secret with", core.create_namespaced_secret(namespace, secret).data)


main(*sys.argv[1:])
