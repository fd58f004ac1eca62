"""``validate``: which objects are judged, the pools that are made up to take every branch, and one list of findings."""
