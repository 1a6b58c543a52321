//go:build ignore

// Prints the fields of Kubernetes' built-in types for fields.txt.
//
// In a folder whose go.mod requires k8s.io/kubernetes (tests/kubernetes/control-plane):
//
//	go run -mod=mod ../../../crates/embedded-apiserver/src/fields/recipe.go > ../../../crates/embedded-apiserver/src/fields/fields.txt
//
// A line `kind GROUP/VERSION KIND TYPE` names the type of a kind; a line `type TYPE` begins a type;
// the lines after it are its fields: NUMBER (of the protobuf message, 0 for none), NAME (in JSON,
// `-` for a struct whose fields are inlined), TYPE, and when the field is left out.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var special = map[string]string{
	"apimachinery/pkg/apis/meta/v1.Time":      "time",
	"apimachinery/pkg/apis/meta/v1.MicroTime": "microtime",
	"apimachinery/pkg/apis/meta/v1.Duration":  "duration",
	"apimachinery/pkg/apis/meta/v1.FieldsV1":  "raw",
	"apimachinery/pkg/runtime.RawExtension":   "raw",
	"apimachinery/pkg/api/resource.Quantity":  "quantity",
	"apimachinery/pkg/util/intstr.IntOrString": "intorstring",
	"api/authentication/v1.ExtraValue":        "items",
	"api/authorization/v1.ExtraValue":         "items",
	"api/certificates/v1.ExtraValue":          "items",
	"apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "raw",
}

var seen = map[string]reflect.Type{}

func short(t reflect.Type) string {
	path := strings.TrimPrefix(t.PkgPath(), "k8s.io/")
	return path + "." + t.Name()
}

func name(t reflect.Type) string {
	s := short(t)
	s = strings.TrimPrefix(s, "api/")
	s = strings.TrimPrefix(s, "apiextensions-apiserver/pkg/apis/")
	s = strings.TrimPrefix(s, "kube-aggregator/pkg/apis/")
	return strings.TrimPrefix(s, "apimachinery/pkg/apis/")
}

func of(t reflect.Type) string {
	if s, ok := special[short(t)]; ok {
		return s
	}
	if t.PkgPath() != "" && t.Kind() == reflect.Struct {
		// These types write themselves as one of their fields.
		switch t.Name() {
		case "JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrStringArray":
			visit(t)
			return "or:" + name(t)
		}
	}
	switch t.Kind() {
	case reflect.Ptr:
		return "*" + of(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + of(t.Elem())
	case reflect.Map:
		return "{}" + of(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "float"
	case reflect.Struct:
		visit(t)
		return name(t)
	}
	panic(t.String())
}

func visit(t reflect.Type) {
	if _, ok := seen[name(t)]; !ok {
		seen[name(t)] = t
		for i := 0; i < t.NumField(); i++ {
			of(t.Field(i).Type)
		}
	}
}

func number(f reflect.StructField) string {
	if parts := strings.Split(f.Tag.Get("protobuf"), ","); len(parts) > 1 {
		return parts[1]
	}
	return "0"
}

func print(t reflect.Type) {
	fmt.Println("type", name(t))
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" {
			continue
		}
		json, when := tag[0], "always"
		if json == "" {
			json = "-"
		}
		for _, option := range tag[1:] {
			if option == "omitempty" || option == "omitzero" {
				if when == "always" {
					when = option
				} else {
					when = "omitboth"
				}
			}
		}
		fmt.Println(number(f), json, of(f.Type), when)
	}
}

func main() {
	utilities := map[string]bool{"WatchEvent": true, "APIVersions": true, "APIGroup": true, "APIGroupList": true, "APIResourceList": true}
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme, meta.AddMetaToScheme,
	} {
		if err := add(known); err != nil {
			panic(err)
		}
	}
	var kinds []string
	for gvk, t := range known.AllKnownTypes() {
		stable := gvk.Version == "v1" || gvk == schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: gvk.Kind}
		options := strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "WatchEvent"
		// Tables have no protobuf, and discovery documents are always JSON.
		if !stable || options || utilities[gvk.Kind] || strings.HasPrefix(gvk.Kind, "Table") {
			continue
		}
		if gvk.Kind == "Status" && gvk.Group != "" {
			continue
		}
		visit(t)
		kinds = append(kinds, fmt.Sprintln("kind", gvk.GroupVersion(), gvk.Kind, name(t)))
	}
	visit(scheme.Scheme.AllKnownTypes()[schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}])
	sort.Strings(kinds)
	fmt.Print(strings.Join(kinds, ""))
	fmt.Println("kind v1 DeleteOptions meta/v1.DeleteOptions")
	var names []string
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		print(seen[n])
	}
}
