"""Sources of a run's inputs: a tree of manifests, or a cluster.

Belongs here: reading objects and converting them to the types of ``model``, with file, line and field of each problem.
May not come in: rendering, writing, decisions about a plan.
"""
