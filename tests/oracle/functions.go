package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"gopkg.in/yaml.v3"
)

// functions is sprig's text map with the overrides and additions of osm-behaviour.md, "Template functions".
func functions() template.FuncMap {
	all := sprig.TxtFuncMap()
	for name, function := range map[string]any{
		"toYaml": toYaml, "fromYaml": fromYaml, "fromYamlArray": fromYamlArray,
		"toJson": toJSON, "fromJson": fromJSON, "fromJsonArray": fromJSONArray,
		"toToml": toTOML, "fromToml": fromTOML,
	} {
		all[name] = function
	}
	return all
}

func toYaml(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func fromYaml(text string) map[string]any {
	value := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}

func fromYamlArray(text string) []any {
	value := []any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value = []any{err.Error()}
	}
	return value
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func fromJSON(text string) map[string]any {
	value := map[string]any{}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}

func fromJSONArray(text string) []any {
	value := []any{}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		value = []any{err.Error()}
	}
	return value
}

func toTOML(value any) string {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(value); err != nil {
		return err.Error()
	}
	return text.String()
}

func fromTOML(text string) map[string]any {
	value := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}
