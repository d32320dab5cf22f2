// Prints every feature gate that kube-scheduler knows, `Name stage default [locked]` a line, as its own registry has them:
//
//	cd e2e/oracle && CGO_ENABLED=0 go run ./gates > ../../crates/scheduler/src/config/upstream_gates.txt
package main

import (
	"fmt"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logs "k8s.io/component-base/logs/api/v1"
	metrics "k8s.io/component-base/metrics/features"

	// Registers its gates, and those of client-go and the API server's library.
	_ "k8s.io/kubernetes/pkg/features"
)

func main() {
	gates := utilfeature.DefaultMutableFeatureGate
	// As kube-scheduler does when it starts.
	for _, add := range []func(featuregate.MutableVersionedFeatureGate) error{logs.AddFeatureGates, metrics.AddFeatureGates} {
		if err := add(gates); err != nil {
			panic(err)
		}
	}
	var lines []string
	for name, spec := range gates.GetAll() {
		line := fmt.Sprintf("%s %s %v", name, stage(spec), spec.Default)
		if spec.LockToDefault {
			line += " locked"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func stage(spec featuregate.FeatureSpec) string {
	if spec.PreRelease == featuregate.GA {
		return "GA"
	}
	return strings.ToLower(string(spec.PreRelease))
}
