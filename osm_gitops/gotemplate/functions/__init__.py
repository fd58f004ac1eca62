"""The functions that OSM's templates may call, by family (osm-behaviour.md, "Template functions").

Each module holds plain Python functions over the values of ``gotemplate.values`` and
ends with ``FUNCTIONS``, a table of :class:`~osm_gitops.gotemplate.calls.GoFunction`. They are pure; one
that fails raises ``GoError``, one whose Go original is random, reads the clock, the
environment or the network is refused in ``table.py``.
"""
