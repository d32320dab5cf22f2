// Prints every field of kube-scheduler's configuration, `Type.field shape` a line, as the Go types have them:
//
//	cd e2e/oracle && CGO_ENABLED=0 go run ./fields | sort > ../../crates/scheduler/src/config/upstream_fields.txt
package main

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	config "k8s.io/kube-scheduler/config/v1"
)

var seen = map[string]bool{}

// shape is what a value is in JSON, in the words of crates/scheduler/src/config/schema.rs.
func shape(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[metav1.Duration]():
		return "Span"
	case of == reflect.TypeFor[runtime.RawExtension]():
		return "Arguments"
	// What a default constraint must not have is not told further.
	case of == reflect.TypeFor[metav1.LabelSelector]():
		return "Anything"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return shape(of.Elem())
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "Bytes"
		}
		return "List(" + shape(of.Elem()) + ")"
	case reflect.Struct:
		defer print(of)
		return of.Name()
	case reflect.String:
		return "Text"
	case reflect.Bool:
		return "Bool"
	case reflect.Int32:
		return "Int32"
	case reflect.Int64:
		return "Int64"
	case reflect.Float32:
		return "Number"
	}
	panic(of.String())
}

func print(of reflect.Type) {
	if seen[of.Name()] {
		return
	}
	seen[of.Name()] = true
	fields(of, of.Name())
}

func fields(of reflect.Type, name string) {
	for i := range of.NumField() {
		field := of.Field(i)
		json, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if json == "" {
			fields(field.Type, name)
			continue
		}
		fmt.Println(name+"."+json, shape(field.Type))
	}
}

func main() {
	print(reflect.TypeFor[config.KubeSchedulerConfiguration]())
	print(reflect.TypeFor[config.DefaultPreemptionArgs]())
	print(reflect.TypeFor[config.DynamicResourcesArgs]())
	print(reflect.TypeFor[config.InterPodAffinityArgs]())
	print(reflect.TypeFor[config.NodeAffinityArgs]())
	print(reflect.TypeFor[config.NodeResourcesBalancedAllocationArgs]())
	print(reflect.TypeFor[config.NodeResourcesFitArgs]())
	print(reflect.TypeFor[config.PodTopologySpreadArgs]())
	print(reflect.TypeFor[config.VolumeBindingArgs]())
}
