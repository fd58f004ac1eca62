"""Reading YAML as Kubernetes does, writing canonical YAML, and editing files, with PyYAML, ruamel.yaml and
orjson.

Belongs here: text ↔ plain Python data, with lines for error messages. May not come in: files, Kubernetes objects,
templates.
"""
