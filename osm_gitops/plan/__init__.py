"""Planning: desired against current state, object by object, as a pure function.

Belongs here: differences and their reasons, texts inside of objects, and guards against dangerous plans (design.md,
"Guards"). May not come in: I/O, git, Kubernetes clients, and text for people other than reasons and refusals, which is
made by ``osm_gitops.report``.
"""
