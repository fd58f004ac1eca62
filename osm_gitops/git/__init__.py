"""The one door to git: small verbs on a repository, and errors of git as our sentences.

Belongs here: running git (through GitPython) and reading what it says. May not come in:
what the files mean. No text of a user becomes an option; paths stand behind ``--``.
"""
