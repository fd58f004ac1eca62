"""The fleet file, settings and overlays, as users write them.

Belongs here: tables of keys, the readers and JSON schemas made from them, stacking of overlays, patches.
May not come in: MachineDeployments, profiles and facts (``sources``), rendering, the steps of a run.
"""
