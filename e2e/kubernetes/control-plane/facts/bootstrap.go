package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// writeBootstrap prints one object on a line.
func writeBootstrap(out io.Writer) error {
	objects := []any{}
	for _, r := range bootstrappolicy.ClusterRoles() {
		r.TypeMeta = metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}
		objects = append(objects, r)
	}
	for _, r := range bootstrappolicy.ControllerRoles() {
		r.TypeMeta = metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}
		objects = append(objects, r)
	}
	for _, b := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		b.TypeMeta = metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}
		for i := range b.Subjects {
			if b.Subjects[i].Kind != rbacv1.ServiceAccountKind {
				b.Subjects[i].APIGroup = rbacv1.GroupName
			}
		}
		objects = append(objects, b)
	}
	roles, bindings := bootstrappolicy.NamespaceRoles(), bootstrappolicy.NamespaceRoleBindings()
	for _, ns := range sorted(roles) {
		for _, r := range roles[ns] {
			r.TypeMeta = metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}
			objects = append(objects, r)
		}
	}
	for _, ns := range sorted(bindings) {
		for _, b := range bindings[ns] {
			b.TypeMeta = metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}
			objects = append(objects, b)
		}
	}
	fmt.Fprintln(out, "[")
	for i, o := range objects {
		line, err := json.Marshal(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s\n", line, comma(i, len(objects)))
	}
	_, err := fmt.Fprintln(out, "]")
	return err
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
