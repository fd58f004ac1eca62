"""``explain``: where the boot configuration of a pool comes from, and what its nodes download."""
