// Command kubelet-flags prints the flags of a kubelet as one JSON object, each with its type and whether it is deprecated.
// Which kubelet, the module file says that it is built with: go run -modfile=1.31.mod .
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
)

type flag struct {
	Type       string `json:"type"`
	Deprecated bool   `json:"deprecated"`
}

func main() {
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	settings, err := options.NewKubeletConfiguration()
	if err != nil {
		log.Fatal(err)
	}
	options.NewKubeletFlags().AddFlags(flags)
	options.AddKubeletConfigFlags(flags, settings)
	options.AddGlobalFlags(flags)
	found := map[string]flag{}
	flags.VisitAll(func(each *pflag.Flag) {
		found[each.Name] = flag{Type: each.Value.Type(), Deprecated: each.Deprecated != ""}
	})
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
