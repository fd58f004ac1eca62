"""``validate``: check profiles and pools, and what they render to."""
