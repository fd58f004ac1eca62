"""OSM's own spelling of flags becomes ours (design.md, "Settings of a command")."""

from __future__ import annotations

import pytest

from osm_gitops.config.go_flags import normalise_arguments
from osm_gitops.errors import Code, InputError
from tests.faults import Expected


def turned(*args: str) -> list[str]:
    return list(normalise_arguments(args).args)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["-cluster-dns=10.0.0.1"], ["--cluster-dns", "10.0.0.1"]),
        (["-cluster-dns", "10.0.0.1"], ["--cluster-dns", "10.0.0.1"]),
        (["--cluster-dns=10.0.0.1"], ["--cluster-dns", "10.0.0.1"]),
        (["-node-no-proxy="], ["--node-no-proxy", ""]),
        (["-node-no-proxy", ""], ["--node-no-proxy", ""]),
        (["-initial-taints=a=b:NoSchedule"], ["--initial-taints", "a=b:NoSchedule"]),
        (["-pause-image", "-external-cloud-provider"], ["--pause-image", "-external-cloud-provider"]),
        (["-external-cloud-provider"], ["--external-cloud-provider"]),
        (["-external-cloud-provider=T"], ["--external-cloud-provider"]),
        (["--external-cloud-provider=0"], ["--no-external-cloud-provider"]),
        (["--no-external-cloud-provider"], ["--no-external-cloud-provider"]),
        (["-kubeconfig", "/k"], ["--kubeconfig", "/k"]),
        (["-cluster-dns"], ["--cluster-dns"]),
    ],
)
def test_a_flag_is_spelled_our_way(given: list[str], expected: list[str]) -> None:
    assert turned(*given) == expected


def test_our_own_options_and_arguments_stay() -> None:
    own = ["plan", "-o", "json", "-v", "-vvv", "-ojson", "--from", "", "--to=x", "-", "-x=1", "--only", "pool-*", "a=b"]
    assert turned(*own) == own


def test_nothing_is_touched_behind_two_dashes() -> None:
    assert turned("validate", "--", "-namespace", "x") == ["validate", "--", "-namespace", "x"]


def test_flags_that_mean_nothing_to_a_batch_become_notes() -> None:
    result = normalise_arguments(["-leader-elect=false", "-worker-count", "5", "-log-debug", "-ca-bundle=/c", "plan"])
    assert result.args == ("plan",)
    assert [note.split()[0] for note in result.notes] == [
        "-leader-elect", "-worker-count", "-log-debug", "-ca-bundle",
    ]  # fmt: skip


def test_the_log_format_is_ours_too_whatever_word_and_case_was_pasted() -> None:
    assert turned("plan", "-log-format=JSON") == ["plan", "--log-format", "JSON"]
    assert turned("plan", "-log-format", "Console") == ["plan", "--log-format", "text"]
    assert turned("plan", "--log-format", "json") == ["plan", "--log-format", "json"]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["-external-cloud-provider=maybe"], Expected(Code.INVALID_FLAG, "-external-cloud-provider", "maybe")),
        (["-leader-elect", "false"], Expected(Code.FLAGS_END_EARLY, "-leader-elect", "false")),
        (["-external-cloud-provider", "true", "plan"], Expected(Code.FLAGS_END_EARLY, "-external-cloud-provider=true")),
        (["-namespace", "a", "", "-cluster-dns=1.1.1.1"], Expected(Code.FLAGS_END_EARLY, "-namespace")),
        (["-external-cloud-provider", ""], Expected(Code.FLAGS_END_EARLY, "-external-cloud-provider")),
        (["-cluster-dsn=10.0.0.1"], Expected(Code.INVALID_FLAG, "-cluster-dsn", "-cluster-dns?")),
    ],
)
def test_what_go_refuses_or_stops_at_is_refused(args: list[str], fault: Expected) -> None:
    with pytest.raises(InputError) as error:
        normalise_arguments(args)
    assert fault in error.value.problems


def test_all_problems_come_at_once() -> None:
    with pytest.raises(InputError) as error:
        normalise_arguments(["-leader-elect=x", "-log-debug=y"])
    assert len(error.value.problems) == 2
