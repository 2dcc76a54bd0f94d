// Command gotypes asks Go itself how the Kubernetes API types look and behave.
//
//	go run . table       prints the type table that crates/cluster/gotypes embeds
//	go run . decode      reads JSON objects, one a line, and prints what strict decoding makes of each
//	go run . protobuf    reads JSON objects, one a line, and prints each as protobuf, in base64
//	go run . decode-cases, protobuf-cases
//	                     the same for random objects of every kind, as tests of that crate read them
//	go run . emit        reads JSON values, one a line, and prints each as YAML, as a JSON string
//	go run . load        reads JSON strings of YAML, one a line, and prints each as JSON
//	go run . emit-cases, load-cases
//	                     the same for tricky values and texts, as tests of crates/core/yaml read them
package main

import (
	"fmt"
	"os"
)

func main() {
	commands := map[string]func() error{
		"table":          printTable,
		"decode":         decodeLines,
		"decode-cases":   decodeCases,
		"protobuf":       protobufLines,
		"protobuf-cases": protobufCases,
		"emit":           emitLines,
		"emit-cases":     emitCases,
		"load":           loadLines,
		"load-cases":     loadCases,
	}
	if len(os.Args) != 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: gotypes table|decode|protobuf|emit|load|…-cases")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, "gotypes:", err)
		os.Exit(1)
	}
}
