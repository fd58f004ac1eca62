"""Planning: desired against current state, object by object, as a pure function.

Belongs here: what differs, why, what is inside the objects, and the guards that refuse
a dangerous plan (design.md, "Guards"). May not come in: I/O, git, Kubernetes clients, and text
for people beyond reasons and refusals: that is made by ``osm_gitops.report``.
"""
