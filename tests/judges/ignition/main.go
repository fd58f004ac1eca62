// Command ignition says what Ignition's own reader thinks of configurations: one JSON string a line in, one JSON list
// of entries a line out ({"level": "error", "message": "…"}); what it refuses altogether is an entry of level "fatal".
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"github.com/coreos/ignition/config/v2_3"
)

type entry struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

func judge(text string) []entry {
	found := []entry{}
	_, report, err := v2_3.Parse([]byte(text))
	for _, each := range report.Entries {
		found = append(found, entry{each.Kind.String(), each.Message})
	}
	if err != nil {
		found = append(found, entry{"fatal", err.Error()})
	}
	return found
}

func main() {
	lines := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for lines.More() {
		var text string
		if err := lines.Decode(&text); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(judge(text)); err != nil {
			log.Fatal(err)
		}
	}
}
