"""The terminal: shared options, the console, exit codes, completion, and the one error handler (``gate.py``).

Belongs here: everything that reads flags and the environment, asks, prints or exits.
May not come in: commands, and functions that another program would want to call.
"""
