"""What Go's standard library and the libraries that OSM links do, to the byte.

Belongs here: pure functions over text and plain data that reproduce one Go package each (``strconv``, ``time``,
``net``, ``net/url``, ``regexp``, ``encoding/json``, ``yaml.v3``, ``BurntSushi/toml``, ``Masterminds/semver``). May not
come in: anything that knows OSM, Kubernetes objects or templates; I/O; the clock. A function that fails raises
:class:`~osm_gitops.gocompat.fault.GoError` with Go's own message.
"""
