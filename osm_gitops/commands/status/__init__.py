"""How clusters stand: what Operating System Manager left in the way, and what of each pool is there, right and due."""
