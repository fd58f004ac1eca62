"""The nouns of the field as frozen records: what is read, rendered and planned.

Belongs here: records, enumerations and names that follow from them alone
(osm-behaviour.md, "Resources" and "Objects"). May not come in: I/O, YAML, templates, defaults that need a
setting, anything that changes after it was made.
"""
