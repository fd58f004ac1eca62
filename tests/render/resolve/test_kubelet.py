"""Kubelet options from annotations (osm-behaviour.md, "Kubelet annotations")."""

from __future__ import annotations

import pytest

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.machine import KubeletOptions
from osm_gitops.render.resolve.kubelet import kubelet_options
from tests.faults import Expected, refused

PREFIX = "v1.kubelet-config.machine-controller.kubermatic.io"


def options(**named: str) -> KubeletOptions:
    return kubelet_options({f"{PREFIX}/{name}": text for name, text in named.items()})[0]


def warnings(annotations: dict[str, str]) -> tuple[Problem, ...]:
    return kubelet_options(annotations)[1]


def test_without_annotations_nothing_is_set() -> None:
    assert kubelet_options(None) == (KubeletOptions(), ())
    assert kubelet_options({"a": "b", PREFIX: "no slash", f"{PREFIX}/Unknown": "x"}) == (KubeletOptions(), ())


def test_every_option_is_read() -> None:
    assert options(
        KubeReserved="cpu=200m,memory=1Gi",
        SystemReserved="cpu=1",
        EvictionHard="memory.available<100Mi,nodefs<=5%",
        MaxPods="110",
        ContainerLogMaxSize="",
        ContainerLogMaxFiles="5",
        ImageGCHighThresholdPercent="-5",
        ImageGCLowThresholdPercent="+70",
        ImageMinimumGCAge="2m",
        ImageMaximumGCAge="-1.5s",
    ) == KubeletOptions(
        kube_reserved={"cpu": "200m", "memory": "1Gi"},
        system_reserved={"cpu": "1"},
        eviction_hard={"memory.available": "100Mi", "nodefs": "=5%"},
        max_pods=110,
        container_log_max_size="",
        container_log_max_files="5",
        image_gc_high_threshold_percent=-5,
        image_gc_low_threshold_percent=70,
        image_minimum_gc_age=120_000_000_000,
        image_maximum_gc_age=-1_500_000_000,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("cpu", {}),
        ("cpu, memory=1Gi,=x", {" memory": "1Gi", "": "x"}),
        ("a=1,a=2", {"a": "2"}),
        ("a=b=c", {"a": "b=c"}),
    ],
)
def test_pairs_are_split_and_not_trimmed(text: str, expected: dict[str, str]) -> None:
    assert options(SystemReserved=text).system_reserved == expected


@pytest.mark.parametrize("text", ["", "abc", " 5", "1_0", "1.0", "2147483648", "-2147483649", "0x10", "٣"])
def test_a_number_is_a_decimal_of_32_bits(text: str) -> None:
    for name in ("MaxPods", "ImageGCHighThresholdPercent", "ImageGCLowThresholdPercent"):
        with refused(Expected(Code.KUBELET_ANNOTATION_INVALID, name, "ParseInt")):
            options(**{name: text})


@pytest.mark.parametrize(("text", "reason"), [("2", "missing unit"), ("", "invalid duration"), ("1d", "unknown unit")])
def test_a_duration_needs_a_unit(text: str, reason: str) -> None:
    for name in ("ImageMinimumGCAge", "ImageMaximumGCAge"):
        with refused(Expected(Code.KUBELET_ANNOTATION_INVALID, name, reason)):
            options(**{name: text})


def test_all_problems_come_at_once_with_their_annotations() -> None:
    with pytest.raises(InputError) as error:
        options(MaxPods="x", ImageMinimumGCAge="y")
    assert [problem.field for problem in error.value.problems] == [
        f"metadata.annotations.{PREFIX}/ImageMinimumGCAge",
        f"metadata.annotations.{PREFIX}/MaxPods",
    ]


def test_a_longer_prefix_counts_too() -> None:
    assert kubelet_options({f"{PREFIX}X/MaxPods": "5"})[0].max_pods == 5


def test_the_exact_annotation_wins_over_one_that_only_starts_alike() -> None:
    rivals = {f"{PREFIX}X/MaxPods": "5", f"{PREFIX}/MaxPods": "7", f"{PREFIX}-a/MaxPods": "6"}
    for order in (rivals, dict(reversed(rivals.items()))):
        chosen, warned = kubelet_options(order)
        assert chosen.max_pods == 7
        assert len(warned) == 2
        assert {warning.code for warning in warned} == {Code.KUBELET_ANNOTATION_AMBIGUOUS}


def test_without_an_exact_one_the_last_in_byte_order_wins() -> None:
    assert kubelet_options({f"{PREFIX}b/MaxPods": "2", f"{PREFIX}a/MaxPods": "1"})[0].max_pods == 2


def test_the_loser_is_not_even_parsed() -> None:
    assert kubelet_options({f"{PREFIX}X/MaxPods": "bad", f"{PREFIX}/MaxPods": "7"})[0].max_pods == 7


def test_a_duration_is_warned_about() -> None:
    (warning,) = warnings({f"{PREFIX}/ImageMinimumGCAge": "2m"})
    assert "&Duration{Duration:2m0s,}" in warning.what
    assert not warnings({f"{PREFIX}/MaxPods": "1"})
