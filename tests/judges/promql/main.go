// Command promql reads a JSON object from stdin: the text of a rule file, series with their samples, and queries. It
// prints what Prometheus' own readers say: what is wrong with the rules, and what each query gives at a time.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

type series struct {
	Labels  map[string]string `json:"labels"`
	Samples [][2]float64      `json:"samples"` // seconds since 1970, value
}

type question struct {
	Rules   string   `json:"rules"`
	Series  []series `json:"series"`
	Queries []string `json:"queries"`
	At      float64  `json:"at"`
}

type sample struct {
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

type answer struct {
	Faults  []string            `json:"faults"`
	Results map[string][]sample `json:"results"`
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "promql")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	told := answer{Faults: []string{}, Results: map[string][]sample{}}
	if _, faults := rulefmt.Parse([]byte(asked.Rules), false); len(faults) > 0 {
		for _, fault := range faults {
			told.Faults = append(told.Faults, fault.Error())
		}
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	store, err := tsdb.Open(folder, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	appender := store.Appender(context.Background())
	for _, each := range asked.Series {
		for _, pair := range each.Samples {
			if _, err := appender.Append(0, labels.FromMap(each.Labels), int64(pair[0]*1000), pair[1]); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := appender.Commit(); err != nil {
		log.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000000, Timeout: time.Minute})
	for _, query := range asked.Queries {
		if _, err := parser.ParseExpr(query); err != nil {
			told.Faults = append(told.Faults, fmt.Sprintf("%s: %s", query, err))
			continue
		}
		at := time.UnixMilli(int64(asked.At * 1000))
		run, err := engine.NewInstantQuery(context.Background(), store, nil, query, at)
		if err != nil {
			told.Faults = append(told.Faults, fmt.Sprintf("%s: %s", query, err))
			continue
		}
		vector, err := run.Exec(context.Background()).Vector()
		if err != nil {
			told.Faults = append(told.Faults, fmt.Sprintf("%s: %s", query, err))
		}
		found := []sample{}
		for _, each := range vector {
			found = append(found, sample{each.Metric.Map(), each.F})
		}
		told.Results[query] = found
		run.Close()
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		log.Fatal(err)
	}
}
