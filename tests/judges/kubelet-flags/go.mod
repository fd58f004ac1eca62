// The root of the module. The module files of the kubelets, 1.31.mod and so on, have what it requires.
module osm-gitops/tests/judges/kubelet-flags

go 1.26.0
