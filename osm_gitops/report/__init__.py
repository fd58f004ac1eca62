"""Reports: plans as text for people and as JSON for machines, with every secret masked.

Belongs here: masking (the one place where it happens, design.md, "Masking"), diffs of what is
inside objects, and layout of text. May not come in: I/O, targets, what a plan decides.
"""
