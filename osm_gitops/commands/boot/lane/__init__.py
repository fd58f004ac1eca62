"""What machines boot in: images, programs, an internet, a control plane, and the machine itself.

docs/explanation/boot-tests.md says what of it is real and what is a stand-in. It is made of programs of the host, which
needs.py names, Debian's packages and pinned Go modules (``go``), and kept in a :class:`~.store.Store`.
"""
