"""The real readers of what we render: Go programs around Kubernetes, containerd and Ignition, and Debian's packages."""
