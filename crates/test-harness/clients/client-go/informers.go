// What informers tell, of a custom kind and of a workload.

package main

import (
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

// heard is what an informer has told, in its order.
type heard struct {
	sync.Mutex
	events []string
}

func (h *heard) add(format string, values ...any) {
	h.Lock()
	defer h.Unlock()
	h.events = append(h.events, fmt.Sprintf(format, values...))
}

func (h *heard) isExactly(events ...string) error {
	h.Lock()
	defer h.Unlock()
	if strings.Join(h.events, " ") != strings.Join(events, " ") {
		return fmt.Errorf("heard %v", h.events)
	}
	return nil
}

func size(object any) any {
	value, _, _ := unstructured.NestedInt64(object.(*unstructured.Unstructured).Object, "spec", "size")
	return value
}

// informers follows custom resources and the Pods of a Deployment.
func informers(one *life) error {
	gadgets := one.dynamic.Resource(one.gadgets).Namespace(one.namespace)
	if _, err := gadgets.Create(one, one.gadget("early", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(one.dynamic, 0, one.namespace, nil)
	informer := factory.ForResource(one.gadgets).Informer()
	told := &heard{}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { told.add("+%v", size(object)) },
		UpdateFunc: func(_, object any) { told.add("~%v", size(object)) },
		DeleteFunc: func(any) { told.add("-") },
	})
	if err != nil {
		return err
	}
	factory.Start(one.Done())
	factory.WaitForCacheSync(one.Done())
	if err := one.until("the list", func() error { return told.isExactly("+3") }); err != nil {
		return err
	}
	for _, size := range []int{5, 6} {
		patch := fmt.Appendf(nil, `{"spec": {"size": %d}}`, size)
		if _, err := gadgets.Patch(one, "early", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if err := gadgets.Delete(one, "early", metav1.DeleteOptions{}); err != nil {
		return err
	}
	err = one.until("the events", func() error { return told.isExactly("+3", "~5", "~6", "-") })
	if err != nil {
		return err
	}
	fmt.Printf("a custom kind: %v, then nothing is left of it: %v\n", told.events, len(informer.GetStore().List()) == 0)
	return workload(one)
}

func deployment(replicas int32) *appsv1.Deployment {
	app := map[string]string{"app": "informed"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "informed"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
			},
		},
	}
}

// workload follows what controllers make of a Deployment.
func workload(one *life) error {
	factory := clientinformers.NewSharedInformerFactoryWithOptions(one.typed, 0, clientinformers.WithNamespace(one.namespace))
	pods := factory.Core().V1().Pods().Lister().Pods(one.namespace)
	deployments := factory.Apps().V1().Deployments().Lister().Deployments(one.namespace)
	factory.Start(one.Done())
	factory.WaitForCacheSync(one.Done())
	api := one.typed.AppsV1().Deployments(one.namespace)
	if _, err := api.Create(one, deployment(2), metav1.CreateOptions{}); err != nil {
		return err
	}
	hasReady := func(count int) func() error {
		return func() error {
			found, err := pods.List(labels.SelectorFromSet(labels.Set{"app": "informed"}))
			if err != nil {
				return err
			}
			ready := 0
			for _, pod := range found {
				for _, condition := range pod.Status.Conditions {
					if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
						ready++
					}
				}
			}
			if ready != count || len(found) != count {
				return fmt.Errorf("%d of %d Pods are ready", ready, len(found))
			}
			return nil
		}
	}
	if err := one.until("two Pods", hasReady(2)); err != nil {
		return err
	}
	// Its controller writes to it, too.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		scale, err := api.GetScale(one, "informed", metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 3
		_, err = api.UpdateScale(one, "informed", scale, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := one.until("three Pods", hasReady(3)); err != nil {
		return err
	}
	err = one.until("its status", func() error {
		live, err := deployments.Get("informed")
		if err != nil {
			return err
		}
		if status := live.Status; status.AvailableReplicas != 3 || status.ObservedGeneration != live.Generation {
			return fmt.Errorf("%+v", status)
		}
		fmt.Printf("a Deployment: scaled to %d in generation %d\n", live.Status.AvailableReplicas, live.Generation)
		return nil
	})
	if err != nil {
		return err
	}
	foreground := metav1.DeletePropagationForeground
	if err := api.Delete(one, "informed", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		return err
	}
	if err := one.until("its end", func() error {
		if live, err := deployments.Get("informed"); err == nil {
			return fmt.Errorf("it is there: %v", live.Finalizers)
		}
		return hasReady(0)()
	}); err != nil {
		return err
	}
	fmt.Println("deleted in the foreground: its Pods are gone")
	return nil
}
