// Writes down the facts about Kubernetes' kinds that the embedded API server's tables are made of: fields, wire numbers, merge and list
// keys, resources with their verbs and short names, and the objects that exist from the first start.
//
//	go run ./facts -spec DIR kinds      the table of types and resources (DIR: api/ of the k8s.io/kubernetes module)
//	go run ./facts bootstrap            the RBAC objects that kube-apiserver makes when it starts
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	spec := flag.String("spec", "", "the folder api/ of the k8s.io/kubernetes module")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case "kinds":
		err = writeKinds(os.Stdout, *spec)
	case "bootstrap":
		err = writeBootstrap(os.Stdout)
	default:
		err = fmt.Errorf("say which facts: kinds or bootstrap")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(1)
	}
}
