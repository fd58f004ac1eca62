"""What others wrote, read with a limit: files, JSON, and the output of programs.

Belongs here: limits in bytes, seconds and nesting, and the sentence for what exceeds them.
May not come in: what the content means, and which limit fits it: callers give that.
"""
