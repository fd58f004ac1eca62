"""``init``: a new config repository, or one made from a cluster of Operating System Manager."""
