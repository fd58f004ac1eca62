"""Pairing inputs with settings and facts: what one MachineDeployment's rendering depends on.

Belongs here: reading settings, provider configs, kubelet annotations and OS specs as
OSM reads them (contract §2, §3, §5, §7). Every refusal of an input lives here, as a
:class:`~osm_gitops.errors.InputError` that carries all problems of that input at once.
May not come in: I/O, the environment, the clock, templates, the shape of what is
written. Pure: what is needed from outside comes in as facts, or as a callable.
"""
