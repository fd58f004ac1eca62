"""Pull requests and their comments at GitHub, GitLab, Gitea and Forgejo.

Belongs here: the REST APIs of forges behind one interface (``forge.py``), where a repository is at a forge, and how a
pull request and a comment are kept up to date. Requests use the connections of ``kube``, so they have the same limits,
and never follow a redirection, so a token reaches no other host. May not come in: plans, commits and branches.
"""
