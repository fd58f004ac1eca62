"""The domain types as frozen dataclasses: what is read, rendered and planned.

Belongs here: records, enumerations, and names that follow from them (osm-behaviour.md, "Resources" and "Objects"). May
not come in: I/O, YAML, templates, defaults that depend on settings, mutable state.
"""
