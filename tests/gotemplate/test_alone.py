"""gocompat and gotemplate could be a library of their own: their READMEs show them without the rest of the package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "osm_gitops"


@pytest.mark.parametrize(("room", "below"), [("gocompat", ()), ("gotemplate", ("gocompat",))])
def test_the_readme_of_a_sealed_room_works_without_the_other_rooms(
    tmp_path: Path, room: str, below: tuple[str, ...]
) -> None:
    (tmp_path / "osm_gitops").mkdir()
    (tmp_path / "osm_gitops" / "__init__.py").touch()
    for each in (room, *below):
        shutil.copytree(PACKAGE / each, tmp_path / "osm_gitops" / each, ignore=shutil.ignore_patterns("__pycache__"))
    readme = (PACKAGE / room / "README.md").read_text("utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    (promised,) = re.findall(r"^```text\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(script, "utf-8")
    command = [sys.executable, "-c", _EXAMPLE, str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout == promised


# The installed package must not be found: the copy comes first on the path.
_EXAMPLE = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
import osm_gitops
assert osm_gitops.__file__.startswith(sys.argv[1]), osm_gitops.__file__
runpy.run_path("example.py", run_name="__main__")
"""
