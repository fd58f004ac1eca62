"""``osm-gitops explain``: what made a pool's configuration, and what its nodes download."""
