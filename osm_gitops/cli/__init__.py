"""The gate: flags in, reports out. The only room that prints, asks, exits and reads the environment.

Belongs here: commands (one module each), options, the terminal, the one error handler.
May not come in: anything that another program would want to call.
"""
