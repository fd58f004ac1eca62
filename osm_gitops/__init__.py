"""osm-gitops: the boot configuration of Kubernetes worker nodes, kept in git.

One way through the house: ``sources`` → ``model`` → ``resolve`` → ``render`` →
``plan`` → ``targets``; ``docs/explanation/architecture.md`` has the map. This module holds
the version and nothing else, so that importing it costs nothing.
"""

__version__ = "0.2.0"
