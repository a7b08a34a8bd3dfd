// Renders a Helm chart without Helm: Go's templates, the functions of Sprig, and the few that Helm adds.
// usage: render CHART VALUES.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	yaml "gopkg.in/yaml.v3"
)

type object = map[string]interface{}

func main() {
	chart := read(filepath.Join(os.Args[1], "Chart.yaml"), yaml.Unmarshal)
	values := read(os.Args[2], json.Unmarshal)
	top := object{
		"Values":  values,
		"Release": object{"Name": "gateway", "Namespace": "default", "Service": "Helm"},
		"Chart":   object{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
	}
	templates := template.New("chart").Option("missingkey=zero")
	templates.Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var text bytes.Buffer
			err := templates.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	})
	template.Must(templates.ParseGlob(filepath.Join(os.Args[1], "templates", "*")))
	for _, each := range templates.Templates() {
		if !strings.HasSuffix(each.Name(), ".yaml") {
			continue
		}
		fmt.Println("---")
		must(each.Execute(os.Stdout, top))
	}
}

func read(path string, parse func([]byte, interface{}) error) object {
	text, err := os.ReadFile(path)
	must(err)
	var parsed object
	must(parse(text, &parsed))
	return parsed
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
