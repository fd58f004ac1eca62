"""Shell scripts, followed without being run: which commands would they call, with which words?

Belongs here: tree-sitter, whose one door this is, and an interpreter that knows what can be known of a machine and
keeps the rest unknown. May not come in: what the commands mean (``osm_gitops.downloads``), files, processes.
"""
