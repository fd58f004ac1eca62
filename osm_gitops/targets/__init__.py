"""Targets of a plan: a folder, a folder in a git work tree, live clusters.

Belongs here: the layout of the desired state (design.md, "Desired state"), reading the current state, and writing such
that an interrupted run leaves nothing half written. May not come in: what should change and why (``osm_gitops.plan``),
and text for people other than error messages.
"""
