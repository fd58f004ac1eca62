package main

import (
	"encoding/json"
	"errors"

	"github.com/flatcar/container-linux-config-transpiler/config"
)

// transpile turns a Container Linux Config into Ignition; a warning is an error, as it is to OSM.
func transpile(text string) (string, error) {
	parsed, tree, report := config.Parse([]byte(text))
	if len(report.Entries) > 0 {
		return "", errors.New(report.String())
	}
	ignition, report := config.Convert(parsed, "", tree)
	if len(report.Entries) > 0 {
		return "", errors.New(report.String())
	}
	encoded, err := json.Marshal(ignition)
	return string(encoded), err
}
