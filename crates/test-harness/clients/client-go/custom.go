// A custom kind and its objects, of which this program knows no Go type.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
)

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

const definition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "gadgets.%[1]s"},
	"spec": {
		"group": "%[1]s", "scope": "Namespaced",
		"names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "shortNames": ["gd"]},
		"versions": [{
			"name": "v1", "served": true, "storage": true,
			"subresources": {"status": {}, "scale": {
				"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"
			}},
			"schema": {"openAPIV3Schema": {"type": "object", "properties": {
				"spec": {"type": "object", "properties": {
					"size": {"type": "integer", "minimum": 1, "default": 3},
					"tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
				}},
				"status": {"type": "object", "properties": {"size": {"type": "integer"}}}
			}}}
		}]
	}
}`

func parsed(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		panic(err)
	}
	return object
}

func (one *life) gadget(name string, spec map[string]any) *unstructured.Unstructured {
	if spec == nil {
		spec = map[string]any{}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": one.group + "/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// customKind defines a kind, watches it become established and finds it by discovery.
func customKind(one *life) error {
	api := one.dynamic.Resource(definitions)
	made, err := api.Create(one, parsed(fmt.Sprintf(definition, one.group)), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	onlyThis := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = "metadata.name=" + made.GetName()
		return options
	}
	list := &cache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return api.List(one, onlyThis(options))
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return api.Watch(one, onlyThis(options))
		},
	}
	ctx, stop := context.WithTimeout(one, soon)
	defer stop()
	if _, err := watchtools.UntilWithSync(ctx, list, &unstructured.Unstructured{}, nil, isEstablished); err != nil {
		return err
	}
	fmt.Println("established")
	return one.until("a mapping", func() error {
		one.mapper.Reset()
		mapping, err := one.mapper.RESTMapping(schema.GroupKind{Group: one.group, Kind: "Gadget"})
		if err != nil {
			return err
		}
		resource, err := one.mapper.ResourceFor(schema.GroupVersionResource{Group: one.group, Resource: "gadget"})
		if err != nil {
			return err
		}
		fmt.Printf("mapped to %s of %s, %s\n", mapping.Resource.Resource, mapping.Resource.Version, mapping.Scope.Name())
		fmt.Printf("the singular is of %s\n", resource.Resource)
		return nil
	})
}

func isEstablished(event watch.Event) (bool, error) {
	object, isObject := event.Object.(*unstructured.Unstructured)
	if !isObject {
		return false, apierrors.FromObject(event.Object)
	}
	// They may be null still.
	field, _, err := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	conditions, _ := field.([]any)
	for _, condition := range conditions {
		fields := condition.(map[string]any)
		if fields["type"] == "Established" && fields["status"] == "True" {
			return true, err
		}
	}
	return false, err
}

// dynamicClient creates, changes, applies and deletes an object whose kind it does not know.
func dynamicClient(one *life) error {
	gadgets := one.dynamic.Resource(one.gadgets).Namespace(one.namespace)
	made, err := gadgets.Create(one, one.gadget("a", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("created %s with the default %v\n", made.GetName(), made.Object["spec"])
	_, err = gadgets.Create(one, one.gadget("a", nil), metav1.CreateOptions{})
	fmt.Printf("created again: already exists %v\n", apierrors.IsAlreadyExists(err))
	_, err = gadgets.Create(one, one.gadget("b", map[string]any{"size": int64(0)}), metav1.CreateOptions{})
	fmt.Printf("created wrong: %v\n", err)
	_, err = gadgets.Get(one, "b", metav1.GetOptions{})
	fmt.Printf("not created: not found %v\n", apierrors.IsNotFound(err))

	stale := made.DeepCopy()
	if err := unstructured.SetNestedField(made.Object, int64(4), "spec", "size"); err != nil {
		return err
	}
	made, err = gadgets.Update(one, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("updated to generation %d\n", made.GetGeneration())
	_, err = gadgets.Update(one, stale, metav1.UpdateOptions{})
	fmt.Printf("updated from what is stale: conflict %v\n", apierrors.IsConflict(err))
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		_, err := gadgets.Update(one, stale, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			fresh, getting := gadgets.Get(one, "a", metav1.GetOptions{})
			if getting != nil {
				return getting
			}
			stale = fresh
		}
		return err
	})
	if err != nil {
		return err
	}
	status := []byte(`{"status": {"size": 4}, "spec": {"size": 9}}`)
	made, err = gadgets.Patch(one, "a", types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	fmt.Printf("status %v beside spec %v, generation %d\n", made.Object["status"], made.Object["spec"], made.GetGeneration())
	return applies(one)
}

func applies(one *life) error {
	gadgets := one.dynamic.Resource(one.gadgets).Namespace(one.namespace)
	spec := map[string]any{"size": int64(5), "tags": []any{"x"}}
	_, err := gadgets.Apply(one, "a", one.gadget("a", spec), metav1.ApplyOptions{FieldManager: "first"})
	fmt.Printf("applied over an update: conflict %v\n", apierrors.IsConflict(err))
	_, err = gadgets.Apply(one, "a", one.gadget("a", spec), metav1.ApplyOptions{FieldManager: "first", Force: true})
	if err != nil {
		return err
	}
	tags := map[string]any{"tags": []any{"y"}}
	made, err := gadgets.Apply(one, "a", one.gadget("a", tags), metav1.ApplyOptions{FieldManager: "second"})
	if err != nil {
		return err
	}
	fmt.Printf("applied by two: %v\n", made.Object["spec"])
	less := map[string]any{"size": int64(5)}
	made, err = gadgets.Apply(one, "a", one.gadget("a", less), metav1.ApplyOptions{FieldManager: "first"})
	if err != nil {
		return err
	}
	fmt.Printf("given up by one: %v\n", made.Object["spec"])
	scale, err := gadgets.Get(one, "a", metav1.GetOptions{}, "scale")
	if err != nil {
		return err
	}
	fmt.Printf("scale %v\n", scale.Object["spec"])
	uid := types.UID("somebody-else")
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	err = gadgets.Delete(one, "a", options)
	fmt.Printf("deleted as another: conflict %v\n", apierrors.IsConflict(err))
	return gadgets.Delete(one, "a", metav1.DeleteOptions{})
}
