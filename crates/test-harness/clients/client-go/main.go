// Lives a life on a Kubernetes API as programs of client-go do, and says on standard output what came
// of it: discovery and a custom kind, the dynamic client, informers, leader election, a service
// account's token. The lines are the same on every API server that is one.
//
// usage: client-go KUBECONFIG NAMESPACE GROUP
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Within this time everything happens that is to happen.
const soon = time.Minute

// life is what every part of it needs.
type life struct {
	context.Context
	config    *rest.Config
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string
	group     string
	gadgets   schema.GroupVersionResource
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("usage: client-go KUBECONFIG NAMESPACE GROUP")
	}
	config, err := clientcmd.BuildConfigFromFlags("", arguments[0])
	if err != nil {
		return err
	}
	// The rate limit is for the sake of others; there are none.
	config.QPS = -1
	ctx, stop := context.WithTimeout(context.Background(), 5*soon)
	defer stop()
	group := arguments[2]
	one := &life{
		Context:   ctx,
		config:    config,
		typed:     kubernetes.NewForConfigOrDie(config),
		dynamic:   dynamic.NewForConfigOrDie(config),
		namespace: arguments[1],
		group:     group,
		gadgets:   schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"},
	}
	discovery := memory.NewMemCacheClient(one.typed.Discovery())
	one.mapper = restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	for _, part := range []struct {
		name string
		live func(*life) error
	}{
		{"custom kind", customKind},
		{"dynamic client", dynamicClient},
		{"informers", informers},
		{"lists", lists},
		{"leader election", leaderElection},
		{"service account", serviceAccount},
	} {
		fmt.Printf("== %s\n", part.name)
		if err := part.live(one); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// until waits for a condition; its last error is told.
func (one *life) until(what string, holds func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(one, 20*time.Millisecond, soon, true,
		func(context.Context) (bool, error) {
			last = holds()
			return last == nil, nil
		})
	if err != nil {
		return fmt.Errorf("%s: %w: %v", what, err, last)
	}
	return nil
}
