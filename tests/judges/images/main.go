// Command images says what containerd thinks of references of images.
//
// One JSON string a line in, one JSON list of sentences a line out.
package main

import (
	"bufio"
	_ "crypto/sha256" // digests
	_ "crypto/sha512"
	"encoding/json"
	"log"
	"os"

	"github.com/distribution/reference"
)

func main() {
	lines := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for lines.More() {
		var text string
		if err := lines.Decode(&text); err != nil {
			log.Fatal(err)
		}
		found := []string{}
		if _, err := reference.ParseDockerRef(text); err != nil {
			found = append(found, err.Error())
		}
		if err := answers.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
}
