"""Reports: plans as text, Markdown, HTML and JSON, with every secret masked.

Belongs here: masking (design.md, "Masking"), diffs of the content of objects, and layout of text. May not come in: I/O,
targets, what a plan decides.
"""
