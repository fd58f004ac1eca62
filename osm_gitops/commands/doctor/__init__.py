"""``doctor``: what a run on this machine would lack. Looks, and changes nothing; uses no network."""
