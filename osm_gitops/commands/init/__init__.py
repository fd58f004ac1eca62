"""``osm-gitops init``: a new config repository, or one from what a cluster has (``adopting``)."""
