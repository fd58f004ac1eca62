"""Checks of profiles, pools and boot files, as pure functions.

Belongs here: rules with their texts, and functions from profiles or rendered files to findings. May not come in: I/O
and programs (``osm_gitops.lint.external``), which pools are checked and how they are rendered
(``osm_gitops.commands.validate``), and the text of reports.
"""
