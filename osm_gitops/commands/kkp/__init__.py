"""``kkp``: what the owner of a KKP seed does to its user clusters."""
