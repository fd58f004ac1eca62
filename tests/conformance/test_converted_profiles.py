"""``osp convert``: converted profiles render to the same bytes, in every recorded case and in the demo (design §5)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from osm_gitops.errors import InputError
from osm_gitops.fleet.profiles import convert_file
from tests.conformance.test_cases import check_objects, profile_text, render_case
from tests.conformance_data import case_names, load_case

DEMO = Path(__file__).resolve().parents[2] / "overlays" / "demo"


@cache
def converted(text: str) -> str:
    """The converted file, each text once; converting it again changes nothing. Raises InputError."""
    done = convert_file(text, "osp.yaml", "kube-system")
    again = convert_file(done.text, "osp.yaml", "kube-system")
    assert (again.text, again.converted, again.already) == (done.text, (), done.converted)
    return done.text


@pytest.mark.parametrize("name", case_names())
def test_a_converted_profile_renders_to_what_osm_wrote(name: str, tmp_path: Path) -> None:
    case = load_case(name)
    refused = "refused" in case["expected"]
    try:
        text = converted(profile_text(case))
    except InputError:
        assert refused
        return
    code, objects, said = render_case(case, tmp_path, text)
    if refused:
        assert (code, objects) == (1, [])
        return
    assert code == 0, said
    check_objects(case, objects)
