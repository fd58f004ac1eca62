"""Access to git: operations on a repository, and errors of git as problems.

Belongs here: running git (through GitPython) and parsing its output. May not come in: the meaning of files. No input of
a user becomes an option; paths follow ``--``.
"""
