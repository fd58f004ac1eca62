"""The commands: one module each, or one folder for a command that needs more.

Belongs here: what one command alone needs (options, steps, report, JSON schema), and ``app.py``, which finds the
commands. The docstring of a command's module is its help page. May not come in: what several commands share; that is
``cli`` for options and output, and ``pipeline`` for the steps of a run.
"""
