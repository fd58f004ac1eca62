"""The fleet file, settings and overlays, as users write them.

Belongs here: their tables of keys, the readers and the JSON schemas that follow from these, how overlays stack, and
patches. May not come in: MachineDeployments, profiles and facts (``sources``), rendering, the steps of a run.
"""
