"""``osm-gitops rekey``: encrypted files for the current recipients."""
