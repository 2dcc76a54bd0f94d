// Prints what strategic merge needs to know of the schema that Kustomize carries: which lists are
// merged, by which keys, and the way from each type to them; and which kinds have a namespace.
//
// One line per fact:
//
//	type <apiVersion> <kind> <definition>
//	def <definition> <field>=<definition> ... <field>=[<key>,...]<definition or -> ...
//	scope <apiVersion> <kind> namespaced|cluster
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const prefix = "#/definitions/"

type facts struct {
	definitions spec.Definitions
	merging     map[string]bool
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	f := &facts{definitions: openapi.Schema().Definitions, merging: map[string]bool{}}
	for f.grow() {
	}
	f.print(out)
}

// A definition merges when a field of it does, or leads to one that does.
func (f *facts) grow() bool {
	grown := false
	for name, definition := range f.definitions {
		if !f.merging[name] && len(f.fields(&definition)) > 0 {
			f.merging[name] = true
			grown = true
		}
	}
	return grown
}

func (f *facts) fields(definition *spec.Schema) []string {
	var fields []string
	for name, property := range definition.Properties {
		if way := f.way(&property); way != "" {
			fields = append(fields, name+"="+way)
		}
	}
	if more := definition.AdditionalProperties; more != nil && more.Schema != nil {
		if way := f.way(more.Schema); way != "" {
			fields = append(fields, "*="+way)
		}
	}
	sort.Strings(fields)
	return fields
}

func (f *facts) way(property *spec.Schema) string {
	if target := property.Ref.String(); target != "" {
		if name := strings.TrimPrefix(target, prefix); f.merging[name] {
			return name
		}
		return ""
	}
	resource := &openapi.ResourceSchema{Schema: property}
	strategy, keys := resource.PatchStrategyAndKeyList()
	for _, word := range strings.Split(strategy, ",") {
		if word == "merge" && len(property.Type) == 1 && property.Type[0] == "array" {
			element := "-"
			if target := property.Items.Schema.Ref.String(); target != "" {
				element = strings.TrimPrefix(target, prefix)
				if !f.merging[element] {
					element = "-"
				}
			}
			return "[" + strings.Join(keys, ",") + "]" + element
		}
	}
	return ""
}

func (f *facts) print(out *bufio.Writer) {
	var names []string
	for name := range f.definitions {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		definition := f.definitions[name]
		if f.merging[name] {
			fmt.Fprintf(out, "def %s %s\n", name, strings.Join(f.fields(&definition), " "))
		}
	}
	for _, name := range names {
		definition := f.definitions[name]
		for _, kind := range kinds(&definition) {
			if !f.merging[name] {
				name = "-"
			}
			fmt.Fprintf(out, "type %s %s %s\n", kind.APIVersion, kind.Kind, name)
			if namespaced, known := openapi.IsNamespaceScoped(kind); known {
				word := "cluster"
				if namespaced {
					word = "namespaced"
				}
				fmt.Fprintf(out, "scope %s %s %s\n", kind.APIVersion, kind.Kind, word)
			}
		}
	}
}

func kinds(definition *spec.Schema) []yaml.TypeMeta {
	var found []yaml.TypeMeta
	list, _ := definition.Extensions["x-kubernetes-group-version-kind"].([]interface{})
	for _, entry := range list {
		kind, _ := entry.(map[string]interface{})
		version, _ := kind["version"].(string)
		if group, _ := kind["group"].(string); group != "" {
			version = group + "/" + version
		}
		name, _ := kind["kind"].(string)
		found = append(found, yaml.TypeMeta{APIVersion: version, Kind: name})
	}
	return found
}
