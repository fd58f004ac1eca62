"""Checkers: programs and libraries of others that judge boot files, each behind one small class.

Belongs here: running shellcheck, bash, cloud-init, systemd-analyze and their like on many files at once, in parallel
with a bound, and reading their answers. May not come in: checks that need none of them (``osm_gitops.lint.rules``), and
what is judged.
"""
