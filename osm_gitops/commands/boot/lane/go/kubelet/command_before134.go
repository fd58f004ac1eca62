//go:build before134

package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func run() int {
	return cli.Run(app.NewKubeletCommand())
}
