"""``import``: clean manifests from a dump of a cluster."""
