// Command schemas makes the data files of the embedded API's built-in kinds.
//
// usage: schemas OPENAPI FOLDER
//
// OPENAPI is a folder with one document of /openapi/v3 per file. Two files are written to FOLDER,
// byte for byte the same for the same documents:
//
//   - types.json.gz: each definition without its texts, and what OpenAPI does not tell of a type:
//     how Go names it in errors, and which fields it leaves out when it writes it.
//   - openapi.json.gz: each definition as it is served, and the paths of each document, where
//     parameters, bodies and responses are numbers in a list of all of them.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type object = map[string]any

// texts are what a schema needs for people only.
var texts = map[string]bool{"description": true, "enum": true, "externalDocs": true}

// served is what is kept of a document: its definitions by name, and its paths.
type served struct {
	Schemas []string `json:"schemas"`
	Paths   object   `json:"paths"`
}

// parts are what operations are made of, each once.
type parts struct {
	all    []any
	places map[string]int
}

func (p *parts) place(part any) int {
	text, err := json.Marshal(part)
	check(err)
	place, ok := p.places[string(text)]
	if !ok {
		place = len(p.all)
		p.places[string(text)] = place
		p.all = append(p.all, part)
	}
	return place
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: schemas OPENAPI FOLDER")
		os.Exit(2)
	}
	parts := &parts{places: map[string]int{}}
	definitions, documents := read(os.Args[1], parts)
	write(filepath.Join(os.Args[2], "openapi.json.gz"), object{"schemas": definitions, "documents": documents, "parts": parts.all})
	write(filepath.Join(os.Args[2], "types.json.gz"), types(definitions))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(path string, value any) {
	text, err := json.Marshal(value)
	check(err)
	var packed bytes.Buffer
	// No name and no time in the header: the file depends on its content alone.
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	check(err)
	_, err = writer.Write(text)
	check(err)
	check(writer.Close())
	check(os.WriteFile(path, packed.Bytes(), 0o644))
}

func read(folder string, parts *parts) (object, map[string]served) {
	definitions, documents := object{}, map[string]served{}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		var document object
		check(json.Unmarshal(text, &document))
		paths, _ := document["paths"].(object)
		if paths == nil {
			continue
		}
		one := served{Schemas: []string{}, Paths: object{}}
		components, _ := document["components"].(object)
		schemas, _ := components["schemas"].(object)
		for _, name := range sorted(schemas) {
			one.Schemas = append(one.Schemas, name)
			merge(definitions, name, schemas[name].(object))
		}
		for _, path := range sorted(paths) {
			one.Paths[path] = shortened(paths[path].(object), parts)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		documents[strings.ReplaceAll(name, "_", "/")] = one
	}
	return definitions, documents
}

func sorted(object object) []string {
	names := []string{}
	for name := range object {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// merge adds a definition; the documents differ in the kinds that they list for shared ones.
func merge(definitions object, name string, schema object) {
	known, ok := definitions[name].(object)
	if !ok {
		definitions[name] = schema
		return
	}
	const kinds = "x-kubernetes-group-version-kind"
	if more, _ := schema[kinds].([]any); len(more) > len(list(known[kinds])) {
		known[kinds] = more
	}
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}

// shortened puts numbers in the place of what many operations share.
func shortened(item object, parts *parts) object {
	short := object{}
	for _, key := range sorted(item) {
		switch value := item[key].(type) {
		case []any:
			short[key] = places(value, parts)
		case object:
			operation := object{}
			for _, key := range sorted(value) {
				switch field := value[key].(type) {
				case []any:
					operation[key] = field
					if key == "parameters" {
						operation[key] = places(field, parts)
					}
				case object:
					operation[key] = field
					if key == "requestBody" {
						operation[key] = parts.place(field)
					} else if key == "responses" {
						responses := object{}
						for _, code := range sorted(field) {
							responses[code] = parts.place(field[code])
						}
						operation[key] = responses
					}
				default:
					operation[key] = field
				}
			}
			short[key] = operation
		}
	}
	return short
}

func places(values []any, parts *parts) []int {
	places := []int{}
	for _, value := range values {
		places = append(places, parts.place(value))
	}
	return places
}

// types is the definitions without texts, with what Go's types tell.
func types(definitions object) object {
	short, _ := withoutTexts(definitions).(object)
	seen := map[reflect.Type]bool{}
	check(apiextensions.AddToScheme(scheme.Scheme))
	check(apiregistration.AddToScheme(scheme.Scheme))
	for _, known := range scheme.Scheme.AllKnownTypes() {
		annotate(known, short, seen)
	}
	return short
}

func withoutTexts(value any) any {
	switch value := value.(type) {
	case object:
		short := object{}
		for key, item := range value {
			_, isText := item.(string)
			_, isList := item.([]any)
			if !texts[key] || !isText && !isList {
				short[key] = withoutTexts(item)
			}
		}
		return short
	case []any:
		short := []any{}
		for _, item := range value {
			short = append(short, withoutTexts(item))
		}
		return short
	}
	return value
}

type named interface{ OpenAPIModelName() string }

// annotate adds Go's view to the definition of a type and of all that it holds.
func annotate(goType reflect.Type, definitions object, seen map[reflect.Type]bool) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		annotate(goType.Elem(), definitions, seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[goType] {
		return
	}
	seen[goType] = true
	definition := object{}
	if model, ok := reflect.New(goType).Interface().(named); ok {
		if found, ok := definitions[model.OpenAPIModelName()].(object); ok {
			definition = found
			definition["x-go-type"] = goType.String()
		}
	}
	properties, _ := definition["properties"].(object)
	annotateFields(goType, "", properties, definitions, seen)
}

// annotateFields does so for the fields of a struct; embedded names the structs that it is embedded in.
func annotateFields(goType reflect.Type, embedded string, properties, definitions object, seen map[reflect.Type]bool) {
	for index := range goType.NumField() {
		field := goType.Field(index)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if field.Anonymous && tag[0] == "" {
			inner := field.Type
			if inner.Kind() == reflect.Struct {
				annotateFields(inner, embedded+" "+field.Name, properties, definitions, seen)
			}
			continue
		}
		annotate(field.Type, definitions, seen)
		property, ok := properties[tag[0]].(object)
		if !ok {
			continue
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		property["x-go-type"] = inner.String()
		if embedded != "" {
			property["x-go-embedded"] = strings.ReplaceAll(strings.TrimSpace(embedded), " ", ".")
		}
		property["x-go-write"] = written(field, tag[1:])
	}
}

// written says when a field is written: a pointer that is set, a value that is not its type's zero
// (`empty`), a struct that has something in it (`zero`), or always: as its zero, or as `null`.
func written(field reflect.StructField, options []string) string {
	has := map[string]bool{}
	for _, option := range options {
		has[option] = true
	}
	omitted := has["omitempty"] || has["omitzero"]
	switch kind := field.Type.Kind(); {
	case kind == reflect.Struct && has["omitzero"]:
		return "zero"
	case kind == reflect.Struct:
		return "always"
	case kind == reflect.Pointer || kind == reflect.Interface:
		if omitted {
			return "set"
		}
		return "null"
	case omitted:
		return "empty"
	case kind == reflect.Slice || kind == reflect.Map:
		return "null"
	}
	return "always"
}
