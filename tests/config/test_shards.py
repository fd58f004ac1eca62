"""Which shard a cluster is in."""

from __future__ import annotations

import pytest

from osm_gitops.config.shards import Shard
from osm_gitops.errors import Code
from tests.faults import Expected, refused

_CLUSTERS = [f"cluster-{number}" for number in range(2_000)]


def _shard_of(cluster: str, count: int) -> int:
    (found,) = (index for index in range(count) if Shard(index, count).has(cluster))
    return found


def test_each_cluster_is_in_one_shard_and_shards_are_about_equal() -> None:
    sizes = [sum(_shard_of(each, 8) == index for each in _CLUSTERS) for index in range(8)]
    assert sum(sizes) == len(_CLUSTERS)
    assert min(sizes) > 200
    assert max(sizes) < 300


@pytest.mark.parametrize("count", [1, 4, 15])
def test_one_shard_more_gets_its_part_of_the_clusters_and_no_other_moves(count: int) -> None:
    moved = {each for each in _CLUSTERS if _shard_of(each, count) != _shard_of(each, count + 1)}
    assert moved == {each for each in _CLUSTERS if _shard_of(each, count + 1) == count}
    assert 0.8 < len(moved) * (count + 1) / len(_CLUSTERS) < 1.2


def test_the_shard_of_a_name_does_not_change() -> None:
    # A version that moves clusters lets old and new shards of one Job work on the same ones.
    assert [_shard_of(each, 16) for each in ("prod", "dev", "edge", "münchen")] == [3, 14, 4, 3]


@pytest.mark.parametrize("text", ["", "1", "4/4", "-1/4", "1/0", "a/b", "1/2/3", "0/1001", " 0/2", "٠/٢", "0/"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with refused(Expected(Code.INVALID_OPTION, f"--shard {text}")):
        Shard.parse(text, f"--shard {text}")


def test_a_shard_is_its_index_and_their_number() -> None:
    assert Shard.parse("3/16", "--shard") == Shard(3, 16)
