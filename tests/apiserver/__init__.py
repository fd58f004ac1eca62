"""Real Kubernetes API servers on this machine, for the tests: the fixtures ``management`` and ``worker``."""
