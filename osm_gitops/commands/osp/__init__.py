"""``osm-gitops osp``: the profiles at hand."""
