"""The door to Kubernetes API servers: kubeconfigs, connections, requests that survive what servers and networks do.

Belongs here: whatever knows the kubernetes client, HTTP, and the API's conventions (pages, patches, status codes).
May not come in: what a MachineDeployment or a profile means, what to write and in which order, printing.
"""
