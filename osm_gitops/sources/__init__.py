"""Where one run's inputs come from: a tree of manifests, or a cluster.

Belongs here: reading, and turning objects into the nouns of ``model`` with every problem
named (file, line, field). May not come in: rendering, writing, decisions about a plan.
"""
