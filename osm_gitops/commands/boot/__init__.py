"""``boot``: boot the machine of a pool on this one, and say whether it joined.

``lane`` is what it boots in, which the tests of machines use too.
"""
