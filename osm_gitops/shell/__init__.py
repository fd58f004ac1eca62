"""Follow shell scripts without running them: which commands do they call, with which words?

Belongs here: tree-sitter, which only this room imports, and an interpreter in which everything that is not known of a
machine is an unknown text. May not come in: the meaning of commands (``osm_gitops.downloads``), files, processes.
"""
