"""Live clusters as a target: reading their state for comparison, and carrying out a plan.

Belongs here: the order of writes, tokens, finalizers, the Lease, the recorded status of runs. May not come in: HTTP and
kubeconfigs (``kube``), what should exist (``render``, ``plan``).
"""
