"""What ``validate`` checks in profiles, pools and the boot files that they render to.

Belongs here: ``rules``, pure functions from files to findings, their tables, and ``external``, programs of others that
check files.
May not come in: which pools are checked and how findings are reported (``osm_gitops.commands.validate``).
"""
