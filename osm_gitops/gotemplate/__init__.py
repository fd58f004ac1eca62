"""Templates: Go text/template with sprig, and native Jinja2, in one sandboxed engine.

Belongs here: the Go template language (lexer, parser, nodes), its translation to Jinja2 source text, Go's values and
functions, the engine and its bounds. This is the only room that imports ``jinja2``. May not come in: Kubernetes
objects, OSM's data model, I/O, the clock, chance, the environment.
"""
