// Renders templates with Helm 3's own engine, for comparison: one JSON case a line in, one answer a
// line out. A case is {"template": ..., "data": ..., "plain": bool}; a plain one is given to Go's
// text/template without any functions, with the data as dot.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

type input struct {
	Template string `json:"template"`
	Data     any    `json:"data"`
	Plain    bool   `json:"plain"`
}

type answer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
}

const name = "c/templates/t"

func plain(in input) (string, error) {
	t, err := template.New(name).Parse(in.Template)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, in.Data)
	return out.String(), err
}

// Helm shortens parse errors; the whole one comes from Go.
func parseError(text string) error {
	stub := func(...any) string { return "" }
	names := sprig.TxtFuncMap()
	delete(names, "env")
	delete(names, "expandenv")
	for _, n := range []string{"include", "tpl", "required", "lookup", "toYaml", "toYamlPretty", "fromYaml",
		"fromYamlArray", "toJson", "fromJson", "fromJsonArray", "toToml", "fromToml"} {
		names[n] = stub
	}
	_, err := template.New(name).Funcs(names).Parse(text)
	return err
}

func helm(in input) (string, error) {
	if err := parseError(in.Template); err != nil {
		return "", err
	}
	c := &chart.Chart{
		Metadata:  &chart.Metadata{Name: "c", Version: "1.0.0", APIVersion: "v2"},
		Templates: []*chart.File{{Name: "templates/t", Data: []byte(in.Template)}},
	}
	out, err := engine.Render(c, chartutil.Values{"Values": in.Data})
	if err != nil {
		return "", err
	}
	return out[name], nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var in input
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			panic(err)
		}
		run := helm
		if in.Plain {
			run = plain
		}
		text, err := run(in)
		a := answer{Output: text}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := encoder.Encode(a); err != nil {
			panic(err)
		}
	}
}
