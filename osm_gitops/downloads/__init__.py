"""Downloads: what a node asks for while it boots, read out of its boot files.

Belongs here: what commands and configuration files mean, as pure functions from boot files to needs. May not come in:
I/O, how scripts are followed (``osm_gitops.shell``), and text of reports.
"""
