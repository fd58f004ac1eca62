"""The steps that commands share: load, render, plan, deliver, for one cluster and for a fleet.

Belongs here: connecting sources, rendering, plans and targets, and the connections of one run. May not come in: how
objects are rendered, compared or written; flags and printing; what only one command needs.
"""
