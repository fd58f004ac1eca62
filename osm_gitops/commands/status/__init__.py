"""``status``: the state of each pool, and blockers in the cluster."""
