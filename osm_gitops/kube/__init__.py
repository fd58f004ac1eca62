"""Access to Kubernetes API servers: kubeconfigs, connections, requests with retries.

Belongs here: use of the kubernetes client, HTTP, and the API's conventions (pages, patches, status codes). May not come
in: the meaning of MachineDeployments and profiles, what to write and in which order, printing.
"""
