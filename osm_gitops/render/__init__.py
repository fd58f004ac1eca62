"""From a resolved pool to its objects: template data, OSC, user-data, Secrets.

Belongs here: what OSM renders from a profile and a MachineDeployment, to the byte
(osm-behaviour.md, "Template data" and "Templates" and "User-data" and "Edge script"), and the manifests that hold it.
Pure: no clock, chance, environment, file or network. May not come in: where inputs come from, what exists already, how
a plan looks.
"""
