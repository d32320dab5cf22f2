// Command internaltypes prints how Kubernetes' internal types look as JSON: the sentences of some refusals ("field is immutable", the
// difference of two pods) show them, and they differ from the published types in names, order and what is left out.
//
// Usage: go run ./internaltypes > ../../../crates/apiserver/data/internal_types.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
)

// field is one field: its name in the internal JSON, its name in the published JSON, its type, and whether it is left out when empty.
type field [4]any

var (
	structs = map[string][]field{}
	// renamed are the published names of internal fields that are called differently there.
	renamed = map[string]string{}
	missing []string
)

func name(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return parts[len(parts)-1] + "." + t.Name()
}

// kind says how a value of the type is written: a struct by its name, "*x", "[]x", "{}x" (map), or the zero value of a plain one.
func kind(t, p reflect.Type) string {
	elem := func(p reflect.Type) reflect.Type {
		if p != nil && (p.Kind() == reflect.Pointer || p.Kind() == reflect.Slice || p.Kind() == reflect.Map) {
			return p.Elem()
		}
		return p
	}
	switch t.String() {
	case "resource.Quantity":
		return "quantity"
	case "v1.Time", "v1.MicroTime":
		return "null"
	case "intstr.IntOrString":
		return "number"
	case "v1.FieldsV1", "runtime.RawExtension":
		return "null"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + kind(t.Elem(), elem(p))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "null"
		}
		return "[]" + kind(t.Elem(), elem(p))
	case reflect.Map:
		return "{}" + kind(t.Elem(), elem(p))
	case reflect.Struct:
		walk(t, p)
		return name(t)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Float64:
		return "number"
	default:
		if strings.HasPrefix(t.Kind().String(), "int") || strings.HasPrefix(t.Kind().String(), "uint") {
			return "number"
		}
		panic(t.String())
	}
}

// published finds the field of the published type that stands for an internal one, also inside of embedded structs.
func published(p reflect.Type, f string) (reflect.StructField, bool) {
	if p == nil || p.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	if to, ok := renamed[p.Name()+"."+f]; ok {
		f = to
	}
	if found, ok := p.FieldByName(f); ok {
		return found, true
	}
	return p.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, f) })
}

func fields(t, p reflect.Type) []field {
	out := []field{}
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		// Internal objects do not carry their kind.
		if !f.IsExported() || f.Name == "TypeMeta" {
			continue
		}
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			from := p
			if found, ok := published(p, f.Name); ok && found.Anonymous {
				from = found.Type
			} else if p != nil {
				if found, ok := published(p, f.Name); ok {
					from = found.Type
				}
			}
			for _, inner := range fields(f.Type, from) {
				if found, ok := published(p, f.Name); ok && !found.Anonymous {
					outer, _, _ := strings.Cut(found.Tag.Get("json"), ",")
					inner[1] = outer + "." + inner[1].(string)
				} else if ok && strings.Split(found.Tag.Get("json"), ",")[0] != "" {
					inner[1] = strings.Split(found.Tag.Get("json"), ",")[0] + "." + inner[1].(string)
				}
				out = append(out, inner)
			}
			continue
		}
		if tag == "-" {
			continue
		}
		shown := f.Name
		if tag != "" {
			shown = tag
		}
		from, ft := "", reflect.Type(nil)
		if found, ok := published(p, f.Name); ok {
			from, _, _ = strings.Cut(found.Tag.Get("json"), ",")
			ft = found.Type
		} else {
			missing = append(missing, fmt.Sprint(name(t), ".", f.Name))
		}
		out = append(out, field{shown, from, kind(f.Type, ft), omitted(options)})
	}
	return out
}

// omitted is 1 where the field is left out when it is empty.
func omitted(options string) int {
	if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
		return 1
	}
	return 0
}

func walk(t, p reflect.Type) {
	n := name(t)
	if _, ok := structs[n]; ok {
		return
	}
	structs[n] = nil
	structs[n] = fields(t, p)
}

func main() {
	for from, to := range map[string]string{
		"PodSpec.Priority": "Priority",
	} {
		renamed[from] = to
	}
	for _, pair := range [][2]any{
		{core.Pod{}, corev1.Pod{}},
		{core.PodTemplate{}, corev1.PodTemplate{}},
		{core.PersistentVolumeClaim{}, corev1.PersistentVolumeClaim{}},
		{core.PersistentVolume{}, corev1.PersistentVolume{}},
		{core.Service{}, corev1.Service{}},
		{core.Node{}, corev1.Node{}},
		{core.Secret{}, corev1.Secret{}},
		{core.ConfigMap{}, corev1.ConfigMap{}},
		{core.ResourceQuota{}, corev1.ResourceQuota{}},
		{core.LimitRange{}, corev1.LimitRange{}},
		{apps.StatefulSet{}, appsv1.StatefulSet{}},
		{apps.Deployment{}, appsv1.Deployment{}},
		{apps.DaemonSet{}, appsv1.DaemonSet{}},
		{apps.ReplicaSet{}, appsv1.ReplicaSet{}},
		{batch.Job{}, batchv1.Job{}},
		{batch.CronJob{}, batchv1.CronJob{}},
	} {
		walk(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]))
	}
	fmt.Fprintln(os.Stderr, "without a published name:", missing)
	// One struct on a line, so that a new release shows as lines that have changed.
	names := make([]string, 0, len(structs))
	for name := range structs {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		row, err := json.Marshal(structs[name])
		if err != nil {
			panic(err)
		}
		open, end := ",", ""
		if i == 0 {
			open = "{"
		}
		if i == len(names)-1 {
			end = "}"
		}
		fmt.Printf("%s%q:%s%s\n", open, name, row, end)
	}
}
