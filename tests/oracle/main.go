// Command oracle answers, with Go's own libraries, what osm-gitops must answer in Python.
//
// It reads one JSON request a line on standard input and writes one JSON answer a line:
//
//	{"files": {"/a": "text"}, "templates": {"x": "text"}, "data": {…}}
//	    → {"output": {"/a": "rendered"}} or {"error": "…"}
//	{"ignition": "Container Linux Config"}
//	    → {"output": "Ignition"} or {"error": "…"}
//
// Assembly follows osm-behaviour.md, "Two renderings", the data's types "Template data", the functions "Template functions".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"sort"
)

type request struct {
	Files     map[string]string `json:"files"`
	Templates map[string]string `json:"templates"`
	Data      root              `json:"data"`
	Ignition  *string           `json:"ignition"`
}

type answer struct {
	Output any    `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			reply(os.Stdout, line)
		}
		if err != nil {
			return
		}
	}
}

// reply writes each answer at once: who asks may wait for it before asking on.
func reply(out io.Writer, line []byte) {
	output, err := respond(line)
	ans := answer{Output: output}
	if err != nil {
		ans = answer{Error: err.Error()}
	}
	if err := json.NewEncoder(out).Encode(ans); err != nil {
		log.Fatal(err)
	}
}

// respond turns a library's panic into an error, as OSM's controller does.
func respond(line []byte) (output any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if req.Ignition != nil {
		return transpile(*req.Ignition)
	}
	return render(req)
}

func render(req request) (map[string]string, error) {
	snippets, err := renderTemplates(req.Templates, &req.Data)
	if err != nil {
		return nil, err
	}
	output := map[string]string{}
	for _, path := range sorted(req.Files) {
		if output[path], err = renderFile(path, req.Files[path], snippets, &req.Data); err != nil {
			return nil, err
		}
	}
	return output, nil
}

func sorted(texts map[string]string) []string {
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
