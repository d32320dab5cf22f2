package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// stable matches the API versions that a kube-apiserver serves without being asked to.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// field is one field of a type as it stands on the wire, in JSON and in protobuf.
type field struct {
	Name string `json:"n"`
	Type any    `json:"t"`
	// The protobuf number; 0 for what protobuf leaves out.
	Number int `json:"p,omitempty"`
	// The number of the message that holds this field in protobuf, where JSON has it inline.
	Via int `json:"via,omitempty"`
	// p: a pointer in Go; e: left out when empty; z: left out when zero; w: a list that protobuf wraps into a message.
	Flags         string   `json:"f,omitempty"`
	Required      bool     `json:"r,omitempty"`
	Default       any      `json:"d,omitempty"`
	PatchStrategy string   `json:"ps,omitempty"`
	PatchKey      string   `json:"pk,omitempty"`
	ListType      string   `json:"lt,omitempty"`
	ListKeys      []string `json:"lk,omitempty"`
	MapType       string   `json:"mt,omitempty"`
}

// typeFacts is a struct, with what the OpenAPI says of the whole.
type typeFacts struct {
	MapType string  `json:"mt,omitempty"`
	Fields  []field `json:"fields"`
}

type walker struct {
	schemas map[string]map[string]any
	types   map[string]typeFacts
}

// leaves are the types with an encoding of their own.
var leaves = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "intstr",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "fields",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "raw",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "json",
}

func writeKinds(out io.Writer, spec string) error {
	w := walker{schemas: map[string]map[string]any{}, types: map[string]typeFacts{}}
	documents, err := filepath.Glob(filepath.Join(spec, "openapi-spec/v3/*_openapi.json"))
	if err != nil || len(documents) == 0 {
		return fmt.Errorf("no OpenAPI documents under %q", spec)
	}
	for _, path := range documents {
		if err := w.read(path); err != nil {
			return err
		}
	}
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(s); err != nil {
			return err
		}
	}
	kinds := map[string]string{}
	for gvk, t := range s.AllKnownTypes() {
		if !stable.MatchString(gvk.Version) || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		if ours(gvk, t) {
			w.walk(t)
			kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = name(t)
		}
	}
	resources, err := readResources(filepath.Join(spec, "discovery"))
	if err != nil {
		return err
	}
	return w.write(out, kinds, resources)
}

// ours leaves out what only clients send: options and the events of a watch.
func ours(gvk schema.GroupVersionKind, t reflect.Type) bool {
	return !strings.HasSuffix(t.PkgPath(), "apis/meta/v1") || gvk.Kind == "DeleteOptions" || gvk.Kind == "Status" || gvk.Kind == "WatchEvent"
}

func (w *walker) read(path string) error {
	var document struct {
		Components struct {
			Schemas map[string]map[string]any
		}
	}
	if err := readJSON(path, &document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, s := range document.Components.Schemas {
		w.schemas[name] = s
	}
	return nil
}

// name is a type's name in the OpenAPI documents: the package's path with its host reversed, then the type.
func name(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(host, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

// walk writes a struct's fields down, and those of everything it holds.
func (w *walker) walk(t reflect.Type) {
	id := name(t)
	if _, seen := w.types[id]; seen {
		return
	}
	w.types[id] = typeFacts{}
	facts := typeFacts{Fields: []field{}}
	facts.MapType, _ = w.schemas[id]["x-kubernetes-map-type"].(string)
	w.fields(t, id, 0, &facts)
	w.types[id] = facts
}

func (w *walker) fields(t reflect.Type, owner string, via int, facts *typeFacts) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		number := wireNumber(f.Tag.Get("protobuf"))
		if f.Anonymous && (tag[0] == "" || contains(tag, "inline")) && f.Type.Kind() == reflect.Struct {
			w.fields(f.Type, owner, number, facts)
			continue
		}
		if tag[0] == "" || tag[0] == "-" {
			continue
		}
		out := field{Name: tag[0], Number: number, Via: via}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			out.Flags += "p"
			ft = ft.Elem()
		}
		if contains(tag, "omitempty") {
			out.Flags += "e"
		}
		if contains(tag, "omitzero") {
			out.Flags += "z"
		}
		out.Type = w.expression(ft)
		out.PatchStrategy, out.PatchKey = f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
		w.published(owner, &out)
		facts.Fields = append(facts.Fields, out)
	}
}

// published adds what only the OpenAPI document says of a field.
func (w *walker) published(owner string, out *field) {
	s := w.schemas[owner]
	if s == nil {
		return
	}
	if required, ok := s["required"].([]any); ok {
		for _, r := range required {
			out.Required = out.Required || r == out.Name
		}
	}
	properties, _ := s["properties"].(map[string]any)
	p, _ := properties[out.Name].(map[string]any)
	if p == nil {
		return
	}
	out.ListType, _ = p["x-kubernetes-list-type"].(string)
	out.MapType, _ = p["x-kubernetes-map-type"].(string)
	if keys, ok := p["x-kubernetes-list-map-keys"].([]any); ok {
		for _, k := range keys {
			out.ListKeys = append(out.ListKeys, k.(string))
		}
	}
	switch d := p["default"].(type) {
	case nil:
	case string:
		if d != "" {
			out.Default = d
		}
	case float64:
		if d != 0 {
			out.Default = d
		}
	case bool:
		if d {
			out.Default = d
		}
	case map[string]any:
		if len(d) > 0 {
			out.Default = d
		}
	}
}

// expression is a type as the table says it: a word, "#" and the name of a struct, or a list or map of one.
func (w *walker) expression(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		return w.expression(t.Elem())
	}
	if leaf, ok := leaves[t.PkgPath()+"."+t.Name()]; ok {
		return leaf
	}
	switch t.Kind() {
	case reflect.Struct:
		w.walk(t)
		return "#" + name(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if t.Name() != "" {
			return map[string]any{"wrapped": w.expression(t.Elem())}
		}
		return map[string]any{"list": w.expression(t.Elem())}
	case reflect.Map:
		return map[string]any{"map": w.expression(t.Elem())}
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32:
		return "int64"
	case reflect.Float64, reflect.Float32:
		return "double"
	case reflect.Interface:
		return "json"
	}
	panic(fmt.Sprintf("no word for %v", t))
}

func wireNumber(tag string) int {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// write puts one type on a line, so that a new release shows as a readable change.
func (w *walker) write(out io.Writer, kinds map[string]string, resources []group) error {
	names := make([]string, 0, len(w.types))
	for n := range w.types {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Fprintln(out, `{"types": {`)
	for i, n := range names {
		line, err := json.Marshal(w.types[n])
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%q: %s%s\n", n, line, comma(i, len(names)))
	}
	fmt.Fprintln(out, `}, "kinds": {`)
	keys := make([]string, 0, len(kinds))
	for k := range kinds {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		fmt.Fprintf(out, "%q: %q%s\n", k, kinds[k], comma(i, len(keys)))
	}
	fmt.Fprintln(out, `}, "groups": [`)
	for i, r := range resources {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s\n", line, comma(i, len(resources)))
	}
	_, err := fmt.Fprintln(out, "]}")
	return err
}

func comma(i, n int) string {
	if i+1 < n {
		return ","
	}
	return ""
}
