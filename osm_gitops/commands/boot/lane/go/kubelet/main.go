// Command kubelet is the kubelet of machines in a lane: Kubernetes' own, with one flag more where the machine is a
// container that cannot have what a whole machine has (lane/systems.py). Which version it is, the module file says that
// it is built with: go build -modfile=1.33.mod .
package main

import "os"

// Settings of the lane. What is under test, unit and configuration, stays as it was rendered.
const lane = "/etc/lane/kubelet.d"

func main() {
	if _, err := os.Stat(lane); err == nil {
		os.Args = append(os.Args, "--config-dir="+lane)
	}
	os.Exit(run())
}
