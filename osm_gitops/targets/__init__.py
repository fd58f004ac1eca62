"""Targets: where a plan goes. A folder, or a folder in a git work tree.

Belongs here: the layout of the desired state (design.md, "Desired state"), reading it back, and writing it
so that a run that is killed leaves nothing half done. May not come in: what should
change and why (``osm_gitops.plan``), and text for people beyond refusals.
"""
