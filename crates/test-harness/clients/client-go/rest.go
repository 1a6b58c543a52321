// Lists by pages, leader election, and who may do what.

package main

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
)

// lists reads a collection page by page, and deletes it by its label.
func lists(one *life) error {
	maps := one.typed.CoreV1().ConfigMaps(one.namespace)
	for number := range 5 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("m%d", number), Labels: map[string]string{"listed": "yes"},
		}}
		if _, err := maps.Create(one, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	pages := 0
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		return maps.List(ctx, options)
	})
	list.PageSize = 2
	var names []string
	selected := metav1.ListOptions{LabelSelector: "listed=yes"}
	err := list.EachListItem(one, selected, func(object runtime.Object) error {
		names = append(names, object.(*corev1.ConfigMap).Name)
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("%v in %d pages\n", names, pages)
	if err := maps.DeleteCollection(one, metav1.DeleteOptions{}, selected); err != nil {
		return err
	}
	left, err := maps.List(one, selected)
	if err != nil {
		return err
	}
	fmt.Printf("deleted by label: %d left\n", len(left.Items))
	return nil
}

// leaderElection has two candidates lead one after the other.
func leaderElection(one *life) error {
	first, resign := context.WithCancel(one)
	defer resign()
	leads := make(chan string, 2)
	ended := make(chan string, 2)
	go candidate(one, first, "first", leads, ended)
	if err := next(one, leads, "leads"); err != nil {
		return err
	}
	second, end := context.WithCancel(one)
	defer end()
	go candidate(one, second, "second", leads, ended)
	resign()
	if err := next(one, ended, "ended"); err != nil {
		return err
	}
	if err := next(one, leads, "leads"); err != nil {
		return err
	}
	lease, err := one.typed.CoordinationV1().Leases(one.namespace).Get(one, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("held by %s\n", *lease.Spec.HolderIdentity)
	end()
	return next(one, ended, "ended")
}

func next(one *life, names chan string, verb string) error {
	select {
	case name := <-names:
		fmt.Printf("the %s candidate %s\n", name, verb)
		return nil
	case <-time.After(soon):
		return fmt.Errorf("nobody %s", verb)
	case <-one.Done():
		return one.Err()
	}
}

func candidate(one *life, ctx context.Context, name string, leads, ended chan string) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: one.namespace},
			Client:     one.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads <- name },
			OnStoppedLeading: func() { ended <- name },
		},
	})
}

// serviceAccount gets a token, a right, and uses both.
func serviceAccount(one *life) error {
	accounts := one.typed.CoreV1().ServiceAccounts(one.namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(one, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	token, err := accounts.CreateToken(one, "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(one.config)
	config.BearerToken = token.Status.Token
	robot := kubernetes.NewForConfigOrDie(config)
	maps := robot.CoreV1().ConfigMaps(one.namespace)
	_, err = maps.List(one, metav1.ListOptions{})
	fmt.Printf("before a role: forbidden %v\n", apierrors.IsForbidden(err))
	if err := grants(one); err != nil {
		return err
	}
	if err := one.until("the right", func() error {
		_, err := maps.List(one, metav1.ListOptions{})
		return err
	}); err != nil {
		return err
	}
	fmt.Println("with a role: allowed")
	for _, verb := range []string{"list", "delete"} {
		review, err := robot.AuthorizationV1().SelfSubjectAccessReviews().Create(one,
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: one.namespace, Verb: verb, Resource: "configmaps",
				},
			}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		fmt.Printf("may it %s? %v\n", verb, review.Status.Allowed)
	}
	config.BearerToken = "nonsense"
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(one.namespace).List(one, metav1.ListOptions{})
	fmt.Printf("with another token: unauthorized %v\n", apierrors.IsUnauthorized(err))
	return nil
}

func grants(one *life) error {
	rules := one.typed.RbacV1()
	_, err := rules.Roles(one.namespace).Create(one, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = rules.RoleBindings(one.namespace).Create(one, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: one.namespace}},
	}, metav1.CreateOptions{})
	return err
}
