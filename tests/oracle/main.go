// Command oracle answers, with Go's own libraries, what osm-gitops must answer in Python.
//
// It reads one JSON request a line on standard input and writes one JSON answer a line:
//
//	{"files": {"/a": "text"}, "templates": {"x": "text"}, "data": {…}}
//	    → {"output": {"/a": "rendered"}} or {"error": "…"}
//
// Assembly follows contract §6.1, the data's types §5.1, the functions §6.5.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
)

type request struct {
	Files     map[string]string `json:"files"`
	Templates map[string]string `json:"templates"`
	Data      root              `json:"data"`
}

type answer struct {
	Output map[string]string `json:"output,omitempty"`
	Error  string            `json:"error,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			reply(out, line)
		}
		if err != nil {
			return
		}
	}
}

func reply(out *bufio.Writer, line []byte) {
	var req request
	var ans answer
	if err := json.Unmarshal(line, &req); err != nil {
		ans.Error = "request: " + err.Error()
	} else {
		ans = render(req)
	}
	encoded, err := json.Marshal(ans)
	if err != nil {
		encoded = []byte(fmt.Sprintf(`{"error": %q}`, err.Error()))
	}
	out.Write(encoded)
	out.WriteByte('\n')
	out.Flush()
}

func render(req request) (ans answer) {
	defer func() {
		if p := recover(); p != nil {
			ans = answer{Error: fmt.Sprintf("panic: %v", p)}
		}
	}()
	snippets, err := renderTemplates(req.Templates, &req.Data)
	if err != nil {
		return answer{Error: err.Error()}
	}
	output := map[string]string{}
	for _, path := range sorted(req.Files) {
		text, err := renderFile(path, req.Files[path], snippets, &req.Data)
		if err != nil {
			return answer{Error: err.Error()}
		}
		output[path] = text
	}
	return answer{Output: output}
}

func sorted(texts map[string]string) []string {
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
