"""Taking over a cluster that Operating System Manager has run on: what it was told, and a repository that says it."""
