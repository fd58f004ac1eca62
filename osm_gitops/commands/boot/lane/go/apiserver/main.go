// Kubernetes' API server and etcd in one binary, for tests that need a real cluster.
//
// It takes the flags of kube-apiserver, or those of etcd after the word "etcd".
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "etcd" {
		etcdmain.Main(os.Args[1:])
		return
	}
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
