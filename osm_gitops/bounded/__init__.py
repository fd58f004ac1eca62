"""Read untrusted files, JSON and output of programs with limits.

Belongs here: limits in bytes, seconds and nesting, and their messages. May not come in: the meaning of content, and the
choice of a limit, which is the caller's.
"""
