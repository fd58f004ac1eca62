"""Resolve inputs, settings and facts to the parts that the rendering of one MachineDeployment depends on.

Belongs here: reading settings, provider configs, kubelet annotations and OS specs as OSM reads them (osm-behaviour.md,
"Flags" and "Profile selection" and "Template data" and "Cloud-config"). Every refusal of an input lives here, as a
:class:`~osm_gitops.errors.InputError` that carries all problems of that input at once. May not come in: I/O, the
environment, the clock, templates, the format of output. Pure: external facts are passed as facts or callables.
"""
