"""The one door to PyYAML: YAML in, as Kubernetes or yaml.v3 reads it; YAML out, one canonical way.

Belongs here: text ↔ plain Python data, with lines for error messages. May not come
in: files, Kubernetes objects, templates.
"""
