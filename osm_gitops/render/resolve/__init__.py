"""Pairing inputs with settings and facts: what one MachineDeployment's rendering depends on.

Belongs here: reading settings, provider configs, kubelet annotations and OS specs as
OSM reads them (osm-behaviour.md, "Flags" and "Profile selection" and "Template data" and "Cloud-config"). Every refusal
of an input lives here, as a
:class:`~osm_gitops.errors.InputError` that carries all problems of that input at once.
May not come in: I/O, the environment, the clock, templates, the shape of what is
written. Pure: what is needed from outside comes in as facts, or as a callable.
"""
