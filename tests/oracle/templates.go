package main

import (
	"bytes"
	"fmt"
	"text/template"
)

// renderTemplates is the first pass: every template alone, its result wrapped in a define.
func renderTemplates(templates map[string]string, data *root) ([]string, error) {
	var snippets []string
	for _, name := range sorted(templates) {
		parsed, err := template.New(name).Funcs(functions()).Parse(templates[name])
		if err != nil {
			return nil, err
		}
		var result bytes.Buffer
		if err := parsed.Execute(&result, data); err != nil {
			return nil, err
		}
		snippets = append(snippets, fmt.Sprintf("\n{{- define \"%s\" }}\n%s\n{{- end }}", name, result.String()))
	}
	return snippets, nil
}

// renderFile is the second pass: the file and every snippet in one set.
func renderFile(path, text string, snippets []string, data *root) (string, error) {
	parsed, err := template.New(path).Funcs(functions()).Parse(text)
	if err != nil {
		return "", err
	}
	for _, snippet := range snippets {
		if parsed, err = parsed.Parse(snippet); err != nil {
			return "", err
		}
	}
	var result bytes.Buffer
	if err := parsed.Execute(&result, data); err != nil {
		return "", err
	}
	return result.String(), nil
}
