// Command hosts says what containerd makes of the registry hosts below a certs.d folder: for each registry that is
// named on the command line after the folder, a JSON list of its hosts, or of what went wrong.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/containerd/containerd/v2/core/remotes/docker/config"
)

type host struct {
	Scheme       string `json:"scheme"`
	Host         string `json:"host"`
	Path         string `json:"path"`
	Capabilities int    `json:"capabilities"`
	Fault        string `json:"fault,omitempty"`
}

func main() {
	answers := json.NewEncoder(os.Stdout)
	hosts := config.ConfigureHosts(context.Background(), config.HostOptions{HostDir: config.HostDirFromRoot(os.Args[1])})
	for _, registry := range os.Args[2:] {
		found := []host{}
		known, err := hosts(registry)
		if err != nil {
			found = append(found, host{Fault: err.Error()})
		}
		for _, each := range known {
			found = append(found, host{each.Scheme, each.Host, each.Path, int(each.Capabilities), ""})
		}
		if err := answers.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
}
