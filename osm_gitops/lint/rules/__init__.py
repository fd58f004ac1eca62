"""Checks: what is wrong with profiles, pools and the boot files that they render to, as pure functions.

Belongs here: rules, and functions from profiles or rendered files to findings; the text of each rule. May not come in:
I/O and programs (``osm_gitops.lint.external``), which pools are checked and how they are rendered
(``osm_gitops.commands.validate``), and text of reports.
"""
