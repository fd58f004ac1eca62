"""Checks: what is wrong with profiles, pools and the boot files that they render to, as pure functions.

Belongs here: rules, and functions from profiles or rendered files to findings; the text of each rule. May not come in:
I/O and programs (``osm_gitops.checkers``), what is judged and how it is rendered (``osm_gitops.fleet.validation``),
and text of reports.
"""
