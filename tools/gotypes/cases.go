package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// Case is an input and what Go makes of it.
type Case struct {
	In  string `json:"in"`
	Out Answer `json:"out"`
}

func printCases(answer func([]byte) Answer, inputs []string) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, in := range inputs {
		if err := out.Encode(Case{In: in, Out: answer([]byte(in))}); err != nil {
			return err
		}
	}
	return nil
}

func decodeCases() error {
	return printCases(decoder(), append(randomObjects(7, 4, true), randomQuantities(9)...))
}

// randomQuantities makes quotas full of amounts in every notation.
func randomQuantities(seed int64) []string {
	r := rand.New(rand.NewSource(seed))
	suffixes := []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E2", "e-2", "e0"}
	var lines []string
	for range 40 {
		var parts []string
		for i := range 40 {
			suffix := suffixes[r.Intn(len(suffixes))]
			// Beyond 10^18 exa-units Go drops the suffix; nobody has that many.
			large := strings.ContainsAny(suffix, "GTPE")
			bits := 62
			if large {
				bits = 10
			}
			digits := strconv.FormatInt(r.Int63n(int64(1)<<r.Intn(bits)+1), 10)
			if !large && r.Intn(4) == 0 {
				digits += strings.Repeat("0", r.Intn(7))
			}
			if at := r.Intn(len(digits)); r.Intn(3) == 0 {
				digits = digits[:at] + "." + digits[at:]
			}
			sign := []string{"", "", "", "-", "+"}[r.Intn(5)]
			parts = append(parts, fmt.Sprintf(`"q%d":%q`, i, sign+digits+suffix))
		}
		lines = append(lines, `{"apiVersion":"v1","kind":"ResourceQuota","spec":{"hard":{`+strings.Join(parts, ",")+`}}}`)
	}
	return lines
}

func protobufCases() error {
	return printCases(protobufEncoder(), randomObjects(8, 2, false))
}

// randomObjects makes bodies of every kind; broken ones among them when faults is set.
func randomObjects(seed int64, each int, faults bool) []string {
	scheme := allKinds()
	r := &writer{Rand: rand.New(rand.NewSource(seed)), faults: faults}
	var names []string
	types := map[string]reflect.Type{}
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version == "__internal" || !wanted(gvk) || gvk.Kind == "DeleteOptions" && gvk.Group != "" {
			continue
		}
		name := gvk.GroupVersion().String() + " " + gvk.Kind
		names = append(names, name)
		types[name] = t
	}
	sort.Strings(names)
	var lines []string
	for _, name := range names {
		version, kind, _ := strings.Cut(name, " ")
		for i := range each {
			r.trouble = faults && i%2 == 1
			r.budget = 120
			body := r.structure(types[name], 0, fmt.Sprintf(`"apiVersion":%q,"kind":%q`, version, kind))
			lines = append(lines, body)
		}
	}
	return lines
}

// writer prints random JSON for a Go type.
type writer struct {
	*rand.Rand
	faults bool
	// trouble allows wrong types in this object; without it only harmless oddities happen.
	trouble bool
	budget  int
}

func (w *writer) pick(words ...string) string { return words[w.Intn(len(words))] }

func (w *writer) structure(t reflect.Type, depth int, first string) string {
	var parts []string
	if first != "" {
		parts = append(parts, first)
	}
	fields := plainFields(t)
	w.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	chance := 3
	if depth > 3 {
		chance = 6
	}
	for _, f := range fields {
		if first != "" && (f.Name == "kind" || f.Name == "apiVersion") {
			continue
		}
		if w.budget <= 0 || w.Intn(chance) != 0 && !(depth == 0 && f.Name != "status") {
			continue
		}
		w.budget--
		parts = append(parts, strconv.Quote(f.Name)+":"+w.value(f.goType, depth+1))
		if w.faults && w.Intn(60) == 0 {
			parts = append(parts, strconv.Quote(f.Name)+":"+w.value(f.goType, depth+1))
		}
		if w.faults && w.Intn(40) == 0 {
			parts = append(parts, w.pick(`"bogus":1`, `"a.b":{"c":[{}]}`, `"Name":"x"`, `"zz":null`))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func plainFields(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			fields = append(fields, plainFields(f.Type)...)
			continue
		}
		if !f.IsExported() || name == "-" || name == "" {
			continue
		}
		fields = append(fields, Field{Name: name, goType: f.Type})
	}
	return fields
}

func (w *writer) value(t reflect.Type, depth int) string {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if w.faults && w.Intn(25) == 0 {
		return "null"
	}
	if w.trouble && w.Intn(80) == 0 {
		return w.pick(`"x"`, `1`, `1.5`, `true`, `[]`, `{}`, `[1]`, `{"a":"b"}`, `1e3`, `99999999999`)
	}
	switch special[t.PkgPath()+"."+t.Name()] {
	case "Time":
		if w.trouble && w.Intn(6) == 0 {
			return w.pick(`"2024-13-01T00:00:00Z"`, `"yesterday"`, `""`, `"2024-01-01"`, `"2024-01-01T00:00:00"`, `"2024-01-01T00:00:00+25:00"`, `"2024-01-01 00:00:00Z"`, `"2024-02-30T00:00:00Z"`, `"2024-01-01T00:00:00.Z"`)
		}
		if !pointer && w.Intn(4) == 0 {
			// Behind a pointer, Go prints the zero time as null, which reads back as absent.
			return `"0001-01-01T00:00:00Z"`
		}
		return w.pick(`"2024-02-29T12:30:00Z"`, `"2024-02-29T12:30:00+02:00"`, `"2024-02-29T12:30:00.123456789Z"`)
	case "MicroTime":
		return w.pick(`"2024-02-29T12:30:00.123456Z"`, `"2024-02-29T12:30:00.000000-07:00"`)
	case "Quantity":
		if w.trouble && w.Intn(6) == 0 {
			return w.pick(`""`, `"x"`, `"1X"`, `"1KK"`, `"1e"`, `{}`, `true`, `"1 Gi"`, `"--1"`)
		}
		return w.pick(`"1"`, `"100m"`, `"1000m"`, `"1.5"`, `"1.234"`, `"0.5"`, `"1Gi"`, `"1024Mi"`, `"1.5Gi"`, `"1e3"`, `"1E3"`, `"0"`, `"000"`, `"+7"`, `"-5Mi"`, `2`, `2.5`, `1e2`, `"1000000"`, `"123456789123456789123"`, `"0.0000000001"`, `"0.1Ki"`, `"1n"`, `"999999u"`, `"."`, `".5"`, `"5."`, `"0100Mi"`, `"8Ei"`, `"9E"`, `"12e-3"`, `"1k"`, `"2000k"`, `"1023"`, `"1.000"`, `"10.000500"`, `"1.5e3"`)
	case "IntOrString":
		return w.pick(`1`, `"http"`, `"25%"`, `0`, `""`)
	case "RawExtension", "JSON", "FieldsV1":
		return w.pick(`{"a":[1,{"b":null}]}`, `{}`, `{"apiVersion":"v1","kind":"Pod"}`)
	case "JSONSchemaPropsOrArray":
		if depth > 9 {
			return `{}`
		}
		return w.pick(w.structure(t.Field(0).Type.Elem(), depth+1, ""), `[{"type":"string"},{}]`)
	case "JSONSchemaPropsOrBool":
		if depth > 9 {
			return `true`
		}
		return w.pick(w.structure(t.Field(1).Type.Elem(), depth+1, ""), `true`, `false`)
	case "JSONSchemaPropsOrStringArray":
		return w.pick(`{"type":"string"}`, `["a","b"]`)
	}
	switch t.Kind() {
	case reflect.String:
		return w.pick(`"a"`, `"b-1"`, `""`, `"Always"`, `"é<&>"`, `"x\ny"`)
	case reflect.Bool:
		return w.pick("true", "false")
	case reflect.Int32, reflect.Int64:
		return w.pick("0", "1", "30", "-1", "8080")
	case reflect.Float64:
		return w.pick("0", "1", "1.5", "1e21", "-2.25", "1.0")
	case reflect.Interface:
		return w.pick(`"a"`, `1`, `1.5`, `null`, `{"a":1}`, `true`)
	case reflect.Struct:
		if depth > 12 {
			return "{}"
		}
		return w.structure(t, depth, "")
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			if w.trouble && w.Intn(4) == 0 {
				return w.pick(`"!"`, `"aGk"`, `"aG=="`, `"aGk=x"`, `"a"`, `"aG=k"`, `[104,105]`, `"aGl="`, `"aGk=\n"`)
			}
			return w.pick(`"aGVsbG8="`, `""`, `"AAECAw=="`)
		}
		var parts []string
		for range w.Intn(3) {
			parts = append(parts, w.value(t.Elem(), depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case reflect.Map:
		var parts []string
		for i := range w.Intn(3) {
			parts = append(parts, fmt.Sprintf("%q:", "k"+strconv.Itoa(i))+w.value(t.Elem(), depth+1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	panic("no value for " + t.String())
}

func emitCases() error {
	r := rand.New(rand.NewSource(3))
	var lines []string
	for range 600 {
		text, err := json.Marshal(randomValue(r, 0))
		if err != nil {
			return err
		}
		lines = append(lines, string(text))
	}
	return printCases(emitter, lines)
}

// randomValue makes a JSON value of the strings that YAML has trouble with.
func randomValue(r *rand.Rand, depth int) any {
	kind := r.Intn(10)
	if depth > 4 && kind > 5 {
		kind = r.Intn(6)
	}
	switch kind {
	case 6, 7:
		list := []any{}
		for range r.Intn(4) {
			list = append(list, randomValue(r, depth+1))
		}
		return list
	case 8, 9:
		object := map[string]any{}
		for range r.Intn(5) {
			object[randomText(r)] = randomValue(r, depth+1)
		}
		return object
	case 0:
		return []any{nil, true, false, 0, 1, -7, 1.5, 1e21, 1e-7, 123456789012345678, 1234567.5, 100000.25, 0.0001}[r.Intn(13)]
	}
	return randomText(r)
}

func randomText(r *rand.Rand) string {
	whole := []string{"", "yes", "no", "y", "N", "true", "null", "~", "0644", "1e3", "1_000", "0x1f", "1.5", ".5", "2001-01-01", "1:30", "1:30:45.5", "<<", "=", "-", "--", "---", "--- a", "...", "a: b", "a:b", "a #b", "#a", "a#b", "- a", "-a", "? a", "?a", ": a", ":a", "[a", "{a", "a]", "&a", "*a", "!a", "|a", ">a", "'a", "\"a", "%a", "@a", "`a", "a'b", "a\"b", "a\\b", " a", "a ", "a\n", "a\nb", "\na", "a\n\n", "a\nb\n", " a\nb", "a \nb", "a\n b", "\n", "\n\n", "a\tb", "\ta", "a\t", "a\r\nb", "é", "日本", "😀", "a\u0007", "\u2028", "a\u2028b", "\ufeff", "\ufeffa", "\u00a0", "a\u007f", "0b11", "0o17", "+1", "+", ".", ".inf", ".nan", "Infinity", "1e400", "0.", "12e03", "a, b", "a?b", "key with spaces", "http://x.y/z?q=1", "*", "&", "2006-01-02T15:04:05Z", "{}", "[]", "a:", "a: ", "🙂 b"}
	if r.Intn(3) > 0 {
		return whole[r.Intn(len(whole))]
	}
	words := []string{"lorem", "ipsum", "dolor", "sit", "amet:", "#x", "a'b", "\"q\"", "é", "  ", "1", "-", "\n", "\n  ", "\t"}
	var text strings.Builder
	for range 1 + r.Intn(40) {
		text.WriteString(words[r.Intn(len(words))])
		if r.Intn(4) > 0 {
			text.WriteString(" ")
		}
	}
	return text.String()
}

func loadCases() error {
	texts := strings.Split(strings.TrimSpace(trickyYAML), "\n====\n")
	r := rand.New(rand.NewSource(4))
	for range 300 {
		text, err := json.Marshal(randomValue(r, 0))
		if err != nil {
			return err
		}
		texts = append(texts, emitter(text).Text)
	}
	return printCases(loader, texts)
}

//go:embed tricky.yaml.txt
var trickyYAML string
