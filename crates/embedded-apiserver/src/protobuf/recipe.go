//go:build ignore

// Prints an object of each kind of ../fields/fields.txt in JSON and in protobuf, for objects.json.gz.
//
// In a folder whose go.mod requires k8s.io/kubernetes (tests/kubernetes/control-plane):
//
//	go run -mod=mod ../../../crates/embedded-apiserver/src/protobuf/recipe.go < ../../../crates/embedded-apiserver/src/fields/fields.txt | gzip -9n > ../../../crates/embedded-apiserver/src/protobuf/objects.json.gz
//
// Each kind has a line with an empty object, and a line with an object in which all fields are set.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var count int64

var instant = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// How often each type was filled. Types are recursive, and many kinds contain a Pod template.
var filled = map[reflect.Type]int{}

func fill(v reflect.Value) {
	count++
	switch x := v.Addr().Interface().(type) {
	case *meta.TypeMeta:
		return
	case *meta.Time:
		x.Time = instant.Truncate(time.Second)
		return
	case *meta.MicroTime:
		x.Time = instant
		return
	case *resource.Quantity:
		*x = resource.MustParse(fmt.Sprint(count))
		return
	case *intstr.IntOrString:
		*x = intstr.FromInt32(int32(count))
		if count%2 == 0 {
			*x = intstr.FromString(fmt.Sprint(count, "%"))
		}
		return
	case *meta.FieldsV1:
		x.Raw = []byte(`{"f:a":{}}`)
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"a":[1,null]}`)
		return
	case *apiextensions.JSON:
		x.Raw = []byte(fmt.Sprintf(`{"b":%d.5}`, count))
		return
	case *apiextensions.JSONSchemaPropsOrBool:
		x.Allows = count%3 != 0
		if count%3 == 1 {
			x.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
		}
		return
	case *apiextensions.JSONSchemaPropsOrArray:
		if count%2 == 0 {
			x.JSONSchemas = []apiextensions.JSONSchemaProps{{Type: "string"}, {}}
		} else {
			x.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
		}
		return
	case *apiextensions.JSONSchemaPropsOrStringArray:
		if count%2 == 0 {
			x.Property = []string{"a", "b"}
		} else {
			x.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
		}
		return
	}
	switch v.Kind() {
	case reflect.Ptr:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{byte(count), 255})
		} else {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"b", "a"} {
			one := reflect.New(v.Type().Elem()).Elem()
			fill(one)
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), one)
		}
	case reflect.Struct:
		filled[v.Type()]++
		for i := 0; i < v.NumField() && filled[v.Type()] <= 2; i++ {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprint("é", count))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(count - 500)
	case reflect.Float64:
		v.SetFloat(float64(count) / 4)
	default:
		panic(v.Type().String())
	}
}

func main() {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme, meta.AddMetaToScheme,
	} {
		if err := add(known); err != nil {
			panic(err)
		}
	}
	encoder := protobuf.NewSerializer(known, known)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		if words[0] != "kind" {
			continue
		}
		gv, err := schema.ParseGroupVersion(words[1])
		if err != nil {
			panic(err)
		}
		for _, full := range []bool{false, true} {
			object, err := known.New(gv.WithKind(words[2]))
			if err != nil {
				panic(err)
			}
			if full {
				count = 0
				fill(reflect.ValueOf(object).Elem())
			}
			object.GetObjectKind().SetGroupVersionKind(gv.WithKind(words[2]))
			var body bytes.Buffer
			if err := encoder.Encode(object, &body); err != nil {
				panic(err)
			}
			line, err := json.Marshal(map[string]any{"body": body.Bytes(), "object": object, "full": full})
			if err != nil {
				panic(err)
			}
			fmt.Println(string(line))
		}
	}
}
