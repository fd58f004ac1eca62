"""The one door to PyYAML and ruamel.yaml: YAML in, as Kubernetes reads it; YAML out, one canonical way; edits of files.

Belongs here: text ↔ plain Python data, with lines for error messages. May not come
in: files, Kubernetes objects, templates.
"""
