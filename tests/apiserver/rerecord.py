"""Render the OSCs and Secrets of the recorded cluster again, after a change of its profiles.

``python -m tests.apiserver.rerecord`` puts the profiles of ``recording/profiles.yaml`` into
``recording/after-osm.json``, and what they render to into the OSCs and Secrets there, which keep the form that OSM
gives them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

from tests.cli.running import osm_gitops

_RECORDING: Final = Path(__file__).parent / "recording"
_FLAGS: Final = ("-namespace", "kube-system", "-external-cloud-provider", "--immutable-secrets")


def main() -> int:
    path = _RECORDING / "after-osm.json"
    recorded = json.loads(path.read_text("utf-8"))
    items = {(each["kind"], each["metadata"]["name"]): each for each in recorded["items"]}
    for profile in yaml.safe_load((_RECORDING / "profiles.yaml").read_text("utf-8"))["items"]:
        items[profile["kind"], profile["metadata"]["name"]]["spec"] = profile["spec"]
    for body in _rendered(list(items.values())):
        kept = items[body["kind"], body["metadata"]["name"]]
        content = "data" if body["kind"] == "Secret" else "spec"
        kept[content] = body[content]
        ours = body["metadata"]["annotations"]
        kept["metadata"]["annotations"] = {key: ours[key] for key in kept["metadata"]["annotations"]}
    path.write_text(json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    return 0


def _rendered(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The OSCs and Secrets of a cluster with these objects."""
    with TemporaryDirectory() as folder:
        tree = Path(folder, "tree.json")
        tree.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), "utf-8")
        bundle = ("--kubernetes-ca-bundle", str(_RECORDING / "ca.pem"))
        ran = osm_gitops("render", "--from", str(tree), "--to", "-", *_FLAGS, *bundle)
    if ran.code:
        sys.exit(ran.err)
    bodies: list[dict[str, Any]] = list(yaml.safe_load_all(ran.out))
    return [body for body in bodies if body["kind"] != "OperatingSystemProfile"]


if __name__ == "__main__":
    sys.exit(main())
