package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Table is everything the Rust side needs to read objects as Go reads them.
type Table struct {
	// Kinds maps apiVersion/kind to a type.
	Kinds map[string]string `json:"kinds"`
	// Types maps a type's name to its fields, in the order Go prints them.
	Types map[string]Type `json:"types"`
}

// Type is one struct.
type Type struct {
	// Go is the name that error messages use, as in DeploymentSpec.
	Go string `json:"go"`
	// Pkg is Go's short package name, which stands before the name where a message prints the type.
	Pkg    string  `json:"pkg"`
	Fields []Field `json:"fields"`
	// Protobuf says that the type has a protobuf form at all.
	Protobuf bool `json:"protobuf,omitempty"`
}

// Field is one field of a struct. Fields of embedded structs stand in the struct that embeds them.
type Field struct {
	Name string `json:"name"`
	// Shape is the field's type: see shape.
	Shape     Shape `json:"shape"`
	OmitEmpty bool  `json:"omitempty,omitempty"`
	OmitZero  bool  `json:"omitzero,omitempty"`
	// Via lists the embedded structs that the field comes through; error messages print them.
	Via []string `json:"via,omitempty"`
	// Number is the protobuf field number, 0 without one.
	Number int    `json:"number,omitempty"`
	Wire   string `json:"wire,omitempty"`
	// ViaNumbers are the numbers of the messages that embedded structs travel in.
	ViaNumbers []int `json:"viaNumbers,omitempty"`

	goType reflect.Type
}

// Shape describes a Go type.
type Shape struct {
	// Kind is string, bool, int32, int64, uint8 .. float64, bytes, struct, map, slice, interface or
	// special.
	Kind string `json:"kind"`
	// Name is a struct's key in Types, or the name of a special type.
	Name string `json:"name,omitempty"`
	// Pointer says that the value may be absent.
	Pointer bool   `json:"pointer,omitempty"`
	Elem    *Shape `json:"elem,omitempty"`
	// Go is the type as Go prints it, where that is not plain from the rest.
	Go string `json:"go,omitempty"`
	// Message is set on named maps and lists that protobuf wraps in a message of their own.
	Message bool `json:"message,omitempty"`
}

// Types with JSON of their own.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "Time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "MicroTime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "Duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "FieldsV1",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "Quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "IntOrString",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "RawExtension",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "JSON",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "JSONSchemaPropsOrArray",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "JSONSchemaPropsOrBool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "JSONSchemaPropsOrStringArray",
}

func printTable() error {
	scheme := allKinds()
	table := Table{Kinds: map[string]string{}, Types: map[string]Type{}}
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version == "__internal" || !wanted(gvk) {
			continue
		}
		table.Kinds[gvk.GroupVersion().String()+"/"+gvk.Kind] = table.add(t)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(table)
}

// Every group has its own copy of the option kinds; one is enough, and WatchEvent never comes in.
func wanted(gvk schema.GroupVersionKind) bool {
	switch gvk.Kind {
	case "CreateOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "TableOptions":
		return gvk.Group == "meta.k8s.io" && gvk.Version == "v1"
	case "WatchEvent", "InternalEvent":
		return false
	}
	return true
}

func (table *Table) add(t reflect.Type) string {
	name := typeName(t)
	if _, done := table.Types[name]; done {
		return name
	}
	_, protobuf := reflect.PointerTo(t).MethodByName("MarshalToSizedBuffer")
	table.Types[name] = Type{}
	table.Types[name] = Type{
		Go:       t.Name(),
		Pkg:      t.String()[:strings.LastIndex(t.String(), ".")],
		Fields:   table.fields(t, nil, nil),
		Protobuf: protobuf,
	}
	return name
}

func (table *Table) fields(t reflect.Type, via []string, viaNumbers []int) []Field {
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, rest, _ := strings.Cut(tag, ",")
		options := strings.Split(rest, ",")
		number, wire := protobufTag(f)
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			inner := table.fields(f.Type, appended(via, f.Name), appended(viaNumbers, number))
			fields = append(fields, inner...)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if slices.Contains(viaNumbers, 0) {
			// An embedded struct without a number is no part of the message.
			number, wire = 0, ""
		}
		field := Field{
			Name:      name,
			Shape:     table.shape(f.Type),
			OmitEmpty: slices.Contains(options, "omitempty"),
			OmitZero:  slices.Contains(options, "omitzero"),
			Via:       via,
			Number:    number,
			Wire:      wire,
		}
		if number != 0 {
			field.ViaNumbers = viaNumbers
		}
		fields = append(fields, field)
	}
	return fields
}

func appended[T any](list []T, entry T) []T {
	return append(list[:len(list):len(list)], entry)
}

func protobufTag(f reflect.StructField) (int, string) {
	tag, ok := f.Tag.Lookup("protobuf")
	if !ok || tag == "-" {
		return 0, ""
	}
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return 0, ""
	}
	var number int
	fmt.Sscanf(parts[1], "%d", &number)
	return number, parts[0]
}

func (table *Table) shape(t reflect.Type) Shape {
	if t.Kind() == reflect.Pointer {
		shape := table.shape(t.Elem())
		shape.Pointer = true
		return shape
	}
	if name, ok := special[t.PkgPath()+"."+t.Name()]; ok {
		shape := Shape{Kind: "special", Name: name, Go: t.String()}
		if strings.HasPrefix(name, "JSONSchemaPropsOr") {
			elem := table.shape(t.Field(0).Type)
			if name == "JSONSchemaPropsOrBool" {
				elem = table.shape(t.Field(1).Type)
			}
			shape.Elem = &elem
		}
		return shape
	}
	shape := Shape{Kind: t.Kind().String()}
	if t.Name() != "" && t.PkgPath() != "" {
		shape.Go = t.String()
	}
	switch t.Kind() {
	case reflect.Struct:
		shape.Name = table.add(t)
		shape.Go = ""
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			shape.Kind = "bytes"
			break
		}
		elem := table.shape(t.Elem())
		shape.Elem = &elem
		_, shape.Message = reflect.PointerTo(t).MethodByName("MarshalToSizedBuffer")
	case reflect.Map:
		elem := table.shape(t.Elem())
		shape.Elem = &elem
		if t.Key().Kind() != reflect.String {
			panic("map key " + t.String())
		}
		if t.Key().PkgPath() != "" {
			shape.Go = t.String()
		}
		_, shape.Message = reflect.PointerTo(t).MethodByName("MarshalToSizedBuffer")
	}
	if _, ok := reflect.PointerTo(t).MethodByName("UnmarshalJSON"); ok {
		panic("unknown special type " + t.String())
	}
	return shape
}

// typeName is the type's name in OpenAPI documents.
func typeName(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(append(host, path[1:]...), t.Name()), ".")
}
