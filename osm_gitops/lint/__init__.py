"""The checks of ``validate`` on profiles, pools and the boot files that they render to.

Belongs here: ``rules``, pure functions from files to findings, their tables, and ``external``, which runs other
linters. May not come in: which pools are checked and how findings are reported (``osm_gitops.commands.validate``).
"""
