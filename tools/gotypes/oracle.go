package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"
)

// Answer is what became of one line.
type Answer struct {
	Value  any      `json:"value,omitempty"`
	Text   string   `json:"text,omitempty"`
	Error  string   `json:"error,omitempty"`
	Strict []string `json:"strict,omitempty"`
}

func eachLine(answer func([]byte) Answer) error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		if err := out.Encode(answer(in.Bytes())); err != nil {
			return err
		}
	}
	return in.Err()
}

func decodeLines() error { return eachLine(decoder()) }

func decoder() func([]byte) Answer {
	scheme := allKinds()
	strict := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
	return func(line []byte) Answer {
		object, _, err := strict.Decode(line, nil, nil)
		var answer Answer
		if faults, ok := runtime.AsStrictDecodingError(err); ok {
			for _, fault := range faults.Errors() {
				answer.Strict = append(answer.Strict, fault.Error())
			}
		} else if err != nil {
			answer.Error = err.Error()
			return answer
		}
		text, err := json.Marshal(object)
		if err != nil {
			answer.Error = "marshal: " + err.Error()
			return answer
		}
		answer.Value = json.RawMessage(text)
		return answer
	}
}

func protobufLines() error { return eachLine(protobufEncoder()) }

func protobufEncoder() func([]byte) Answer {
	scheme := allKinds()
	reader := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
	writer := protobuf.NewSerializer(scheme, scheme)
	return func(line []byte) Answer {
		object, _, err := reader.Decode(line, nil, nil)
		if err != nil {
			return Answer{Error: err.Error()}
		}
		text, err := runtime.Encode(writer, object)
		if err != nil {
			return Answer{Error: err.Error()}
		}
		back, _, err := writer.Decode(text, nil, nil)
		if err != nil {
			return Answer{Error: fmt.Sprint("back: ", err)}
		}
		value, err := json.Marshal(back)
		if err != nil {
			return Answer{Error: err.Error()}
		}
		return Answer{Text: base64.StdEncoding.EncodeToString(text), Value: json.RawMessage(value)}
	}
}

func emitLines() error { return eachLine(emitter) }

func emitter(line []byte) Answer {
	text, err := yaml.JSONToYAML(line)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Text: string(text)}
}

func loadLines() error {
	return eachLine(func(line []byte) Answer {
		var text string
		if err := json.Unmarshal(line, &text); err != nil {
			return Answer{Error: err.Error()}
		}
		return loader([]byte(text))
	})
}

func loader(text []byte) Answer {
	value, err := yaml.YAMLToJSON(text)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	answer := Answer{Value: json.RawMessage(value)}
	if _, err := yaml.YAMLToJSONStrict(text); err != nil {
		answer.Strict = []string{err.Error()}
	}
	return answer
}
