// Command kubelet is the kubelet of the machines that boot in tests: Kubernetes' own, with one flag more where the
// machine is a container that cannot have what a whole machine has (tests/machines/lane.py).
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

// Settings of the lane. What is under test, unit and configuration, stays as it was rendered.
const lane = "/etc/lane/kubelet.d"

func main() {
	if _, err := os.Stat(lane); err == nil {
		os.Args = append(os.Args, "--config-dir="+lane)
	}
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
