"""``report``: the whole fleet on one page."""
