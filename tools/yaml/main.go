// Reads texts, one JSON string a line, and prints what Kubernetes' tools make of each: its documents as
// JSON up to the first that is broken, and whether one is.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

type answer struct {
	In     string            `json:"in"`
	Docs   []json.RawMessage `json:"docs"`
	Broken bool              `json:"broken"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			panic(err)
		}
		if err := out.Encode(read(text)); err != nil {
			panic(err)
		}
	}
}

func read(text string) answer {
	found := answer{In: text, Docs: []json.RawMessage{}}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text))))
	for {
		part, err := reader.Read()
		if err == io.EOF {
			return found
		}
		if err != nil {
			found.Broken = true
			return found
		}
		value, err := yaml.YAMLToJSON(part)
		if err != nil {
			found.Broken = true
			return found
		}
		if !bytes.Equal(value, []byte("null")) {
			found.Docs = append(found.Docs, value)
		}
	}
}
