"""Live clusters as a target: their state as the plan compares it, and the writes that a plan comes to.

Belongs here: what is read to compare, the order of writes, tokens, finalizers, the Lease, what a run leaves
behind to be seen. May not come in: HTTP and kubeconfigs (``kube``), what should exist (``render``, ``plan``).
"""
