"""``osp``: list, show, compare and convert profiles."""
