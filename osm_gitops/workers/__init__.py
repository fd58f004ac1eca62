"""Worker processes with limits of the operating system, for work on untrusted content.

Belongs here: starting a worker, dropping its rights, calls and answers, and reaching a limit. May not come in: what the
calls do. Functions are passed by reference from the rooms above.

``calls`` is the interface: ``call`` runs one function, a ``Series`` many of them on a state that stays in the worker.
``crew`` is for work of this program itself: processes with all rights of their parent, which do it side by side.
"""
