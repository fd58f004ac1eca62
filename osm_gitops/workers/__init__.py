"""Worker processes with limits of the operating system, for work on content that a stranger may have written.

Belongs here: how a worker starts, gives up its rights, takes calls and answers, and what happens when it reaches a
limit. May not come in: what the calls do. Functions come by reference from the rooms above.

``calls`` is the interface: ``call`` runs one function, a ``Series`` many of them on a state that stays in the worker.
"""
