"""``install``: the manifests that a cluster needs for runs."""
