"""``rekey``: re-encrypt files for other recipients."""
