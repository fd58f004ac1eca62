"""``rollout``: which Machines still run an old boot configuration, and replacing them."""
