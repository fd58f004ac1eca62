"""Downloads: what a node asks for while it boots, found in its boot files.

Belongs here: the meaning of commands and configuration files, as pure functions from boot files to needs. May not come
in: I/O, how scripts are followed (``osm_gitops.shell``), and text of reports.
"""
