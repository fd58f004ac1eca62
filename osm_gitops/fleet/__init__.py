"""The fleet: which clusters there are, and one run over them.

Belongs here: the fleet file, the story of a run (load → desire → plan → deliver) for
one cluster or many, and the config repository to start with. May not come in: how anything
is rendered, compared or written; flags and printing.
"""
