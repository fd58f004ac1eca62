"""Plans as text and JSON: readable, complete, and without a secret."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.errors import Code, Problem
from osm_gitops.model.desired import Desired, SecretTexts, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, Plan, TextChange, View
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report import diff as diff_module
from osm_gitops.report.diff import text_diff
from osm_gitops.report.excerpts import draft, with_excerpts, without_bodies
from osm_gitops.report.html import Page, format_html
from osm_gitops.report.json_report import plan_json
from osm_gitops.report.markdown import Markdown, format_markdown
from osm_gitops.report.text import Style, format_plan
from tests.plan.objects import current, desired, pool, secret

_STYLE = Style()
_TOKEN = "getter-token-1"
_OLD_TOKEN = "getter-token-0"


def _plan(new: Mapping[str, str], old: Mapping[str, str], **more: Any) -> Plan:
    return Plan((make_cluster_plan(desired(new, **more), current(desired(old)), PlanOptions()),))


def _json(plan: Plan, **more: Any) -> str:
    return "".join(plan_json(plan, **more))


def _script(token: str, server: str = "https://foo.bar:6443") -> str:
    return f"#!/bin/sh\nset -e\ncurl --header 'Authorization: Bearer {token}' {server}\necho done\n"


def test_no_change_says_so_and_nothing_else() -> None:
    assert format_plan(_plan({"a": "x\n"}, {"a": "x\n"}), _STYLE) == "No changes.\n"


def test_the_api_servers_of_a_cluster_are_named_whatever_happens_there() -> None:
    hosts = ("management cluster https://a:6443 (context seed)", "worker cluster https://b:6443 (context \x1b[2J)")
    plan = _plan({"a": "x\n"}, {"a": "x\n"}, hosts=hosts)
    assert format_plan(plan, _STYLE) == (
        "Cluster prod\n"
        "  Servers: management cluster https://a:6443 (context seed), "
        "worker cluster https://b:6443 (context \\x1b[2J)\n"
        "\n"
        "No changes.\n"
    )
    assert "\nServers: `management cluster https://a:6443" in "".join(format_markdown(plan, Markdown()))
    assert "<p>Servers: <code>management cluster https://a:6443" in "".join(format_html(plan, Page()))
    assert json.loads(_json(plan))["clusters"][0]["hosts"] == list(hosts)


def test_an_update_shows_the_change_inside_the_file_once() -> None:
    text = format_plan(_plan({"a": "one\ntwo\n"}, {"a": "one\n2\n"}), _STYLE)
    assert text == (
        "Cluster prod\n"
        "\n"
        "  Pool kube-system/a\n"
        "  ~ update OperatingSystemConfig kube-system/a-kube-system-config: changed: provisioning /opt/bin/setup\n"
        "      provisioning /opt/bin/setup\n"
        "        @@ -1,2 +1,2 @@\n"
        "         one\n"
        "        -2\n"
        "        +two\n"
        "  ~ update Secret cloud-init-settings/a-kube-system-provisioning-config: "
        "changed: provisioning /opt/bin/setup\n"
        "      provisioning /opt/bin/setup: as above\n"
        "\n"
        "Plan: 0 to create, 2 to update, 0 to replace, 0 to delete, 1 unchanged.\n"
        "\n"
        "1 pool with a changed boot configuration: machines that exist keep the one they booted with, "
        "only new machines get the new one.\n"
        "To replace the machines of a pool, rolling, change its template, for example:\n"
        "  kubectl -n kube-system patch machinedeployment a --type merge -p "
        """'{"spec":{"template":{"metadata":{"annotations":"""
        """{"forceRestart":"'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'"}}}}}'"""
        "\n"
    )


def test_pools_that_change_alike_are_shown_once() -> None:
    names = [f"pool-{number:03}" for number in range(200)]
    text = format_plan(_plan(dict.fromkeys(names, "new\n"), dict.fromkeys(names, "old\n")), _STYLE)
    assert text.count("+new") == 1
    assert "200 pools, alike: kube-system/pool-000, kube-system/pool-001" in text
    assert "and 190 more" in text


def test_what_every_pool_has_its_own_of_makes_no_pools_unlike() -> None:
    def one(name: str, digest: str) -> tuple[Change, Change]:
        metadata = {"annotations": {"osm-gitops.io/template-digest": digest}}
        gate = ObjectRef("Secret", "cloud-init-settings", f"{name}-kube-system-bootstrap-config")
        token = ObjectRef("Secret", "kube-system", f"bootstrap-token-{digest}")
        group, after = f"{name}-kube-system", {"metadata": metadata}
        return (
            Change(gate, Side.WORKER, Action.UPDATE, "why", group, pool(name), {}, after, changed_texts({}, after)),
            Change(token, Side.WORKER, Action.UPDATE, "it ends soon", group, pool(name), upkeep=True),
        )

    changes = (*one("a", "aaaaaa"), *one("b", "bbbbbb"))
    text = format_plan(Plan((ClusterPlan("prod", changes),)), _STYLE)
    assert "2 pools, alike: kube-system/a, kube-system/b" in text
    assert "bbbbbb" not in text


def _annotated(**annotations: str) -> str:
    """Metadata as a text of an object."""
    names = {
        "digest": "osm-gitops.io/template-digest",
        "hash": "k8c.io/mdannotations-hash",
        "osp": "k8c.io/osp-version",
    }
    return "".join(f"annotations.{names[key]}: {value}\n" for key, value in annotations.items())


def test_digests_are_not_shown_as_diffs() -> None:
    before, after = _annotated(hash="aa", osp="v1", digest="bb"), _annotated(hash="cc", osp="v2", digest="dd")
    lines = text_diff(TextChange("metadata", before, after)).lines
    assert [line for line in lines if line[0] != "@"] == [
        "-annotations.k8c.io/osp-version: v1",
        "+annotations.k8c.io/osp-version: v2",
    ]
    alone = text_diff(TextChange("metadata", _annotated(digest="bb"), _annotated(digest="dd")))
    assert (alone.lines, alone.instead) == ((), "only digests changed")


def test_a_digest_that_is_new_is_shown() -> None:
    diff = text_diff(TextChange("metadata", _annotated(osp="v1"), _annotated(osp="v1", digest="dd")))
    assert diff.lines[1:] == ("+annotations.osm-gitops.io/template-digest: dd",)


def test_a_pool_of_which_a_digest_alone_changed_is_not_alike_to_one_of_which_more_did() -> None:
    def one(name: str, **more: str) -> Change:
        gate = ObjectRef("Secret", "cloud-init-settings", f"{name}-kube-system-bootstrap-config")
        annotations = {"osm-gitops.io/template-digest": "a", "k8c.io/osp-version": "v1"}
        before, after = ({"metadata": {"annotations": annotations | each}} for each in ({}, more))
        texts = changed_texts(before, after)
        return Change(gate, Side.WORKER, Action.UPDATE, "why", f"{name}-kube-system", pool(name), before, after, texts)

    changes = (one("a", **{"osm-gitops.io/template-digest": "b"}), one("b", **{"k8c.io/osp-version": "v2"}))
    text = format_plan(Plan((ClusterPlan("prod", changes),)), _STYLE)
    assert "alike" not in text
    assert "metadata: only digests changed" in text


def test_what_stops_many_pools_is_told_once() -> None:
    missing = (Problem(Code.INVALID_VALUE, "there is no token", about="Secret x/y"),)
    plan = ClusterPlan("prod", (), failed={pool("a"): missing, pool("b"): missing})
    text = format_plan(Plan((plan,)), _STYLE)
    assert "  Failed: 2 pools (kube-system/a, kube-system/b): Secret x/y: there is no token [OG1024]\n" in text


def test_new_pools_are_listed_without_their_content_unless_asked() -> None:
    plan = _plan({"a": "line-of-a-script\n", "b": "x\n"}, {"b": "x\n"})
    assert "line-of-a-script" not in format_plan(plan, _STYLE)
    assert "+line-of-a-script" in format_plan(plan, Style(verbose=True))
    assert "new pool" in format_plan(plan, _STYLE)


def test_colours_only_if_asked() -> None:
    plan = _plan({"a": "new\n"}, {"a": "old\n"})
    assert "\x1b" not in format_plan(plan, _STYLE)
    assert "\x1b[32m        +new\x1b[0m" in format_plan(plan, Style(color=True))


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = format_plan(_plan({"a": "a\x1b[2Jb\r\n"}, {"a": "c\n"}), _STYLE)
    assert "+a\\x1b[2Jb\\r" in text


def test_a_lost_final_line_break_shows() -> None:
    diff = text_diff(TextChange("x", "a\n", "a"))
    assert diff.lines == ("@@ -1 +1 @@", "-a", "+a", "\\ No newline at end of file")


def test_huge_texts_are_compared_in_no_time() -> None:
    old, new = ("".join(f"{side} {number % 7}\n" for number in range(5_000)) for side in "ab")
    diff = text_diff(TextChange("x", old, new))
    assert (diff.added, diff.removed) == (5_000, 5_000)


def test_a_certificate_that_moves_in_a_large_bundle_is_the_only_change() -> None:
    certificates = ["BEGIN\n" + "".join(f"{number}.{line}\n" for line in range(20)) + "END\n" for number in range(300)]
    moved = [*certificates[:10], *certificates[11:250], certificates[10], *certificates[250:]]
    diff = text_diff(TextChange("x", "".join(certificates), "".join(moved)))
    assert (diff.added, diff.removed) == (22, 22)
    assert len(diff.lines) <= 2 * (22 + 6 + 1)  # two hunks with their context


_FEW_LINES = st.lists(st.sampled_from([f"{letter}\n" for letter in "abcdefghij"]), max_size=30)


@given(_FEW_LINES, _FEW_LINES)
def test_texts_that_take_long_to_compare_have_a_true_diff(old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff_module, "_PAIRS", 20)
        diff_module._hunks.cache_clear()
        lines = text_diff(TextChange("x", "".join(old), "".join(new)), context=100).lines
        diff_module._hunks.cache_clear()
    if old != new:
        assert [f"{line[1:]}\n" for line in lines if line[0] in " -"] == old
        assert [f"{line[1:]}\n" for line in lines if line[0] in " +"] == new


def test_ranges_of_a_diff_count_from_the_start_of_the_text() -> None:
    old = "".join(f"{number}\n" for number in range(20))
    assert text_diff(TextChange("x", old, old.replace("10\n", "ten\n"))).lines[0] == "@@ -8,7 +8,7 @@"


def test_failures_keeps_refusals_and_warnings_are_told() -> None:
    old = current(desired({"a": "x\n", "b": "x\n", "c": "x\n", "d": "x\n"}))
    wanted = replace(
        desired({"a": "x\n"}),
        failed={pool("b"): (Problem(Code.INVALID_VALUE, "no such profile"),)},
        warnings=(Problem(Code.INVALID_VALUE, "odd"),),
    )
    text = format_plan(Plan((make_cluster_plan(wanted, old, PlanOptions()),)), _STYLE)
    assert "Failed: MachineDeployment kube-system/b: no such profile" in text
    assert "Kept: 3 objects" in text
    assert "Warning: odd" in text
    assert "- delete Secret cloud-init-settings/c-kube-system-bootstrap-config and 1 more alike: pool is gone" in text
    assert "2 pools, alike: kube-system/c, kube-system/d\n" in text
    assert "Refused:" not in text
    refused = make_cluster_plan(Desired("prod", ()), old, PlanOptions())
    assert "Refused: cluster prod: nothing is desired" in format_plan(Plan((refused,)), _STYLE)


# -- secrets --


def _rotation(**more: Any) -> Plan:
    return _plan({"a": _script(_TOKEN)}, {"a": _script(_OLD_TOKEN)}, sensitive=frozenset({_TOKEN}), **more)


@pytest.mark.parametrize("report", [lambda plan: format_plan(plan, Style(verbose=True)), _json])
def test_a_rotated_token_is_masked_on_both_sides(report: Any) -> None:
    text = report(_rotation())
    assert _TOKEN not in text
    assert _OLD_TOKEN not in text
    assert "Bearer *** (before)" in text
    assert "Bearer *** (after)" in text


def test_an_unchanged_token_in_the_context_is_plainly_masked() -> None:
    new, old = _script(_TOKEN, "https://new:6443"), _script(_TOKEN, "https://old:6443")
    text = format_plan(_plan({"a": new}, {"a": old}, sensitive=frozenset({_TOKEN})), _STYLE)
    assert "-curl --header 'Authorization: Bearer ***' https://old:6443" in text
    assert "(before)" not in text


def test_secrets_in_problems_are_masked() -> None:
    text = _json(_rotation(warnings=(Problem(Code.INVALID_VALUE, f"odd value {_TOKEN}"),)))
    assert "odd value ***" in text


def test_what_a_deleted_foreign_key_of_ours_held_is_masked() -> None:
    body = secret("b", "provisioning", "x\n").body
    data = {**body["data"], "extra": b64encode(b"hidden-value-9").decode()}
    have = current(desired({"a": "x\n", "b": "x\n"}))
    objects = {
        ref: replace(found, body={**(found.body or {}), "data": data} if found.body == body else found.body)
        for ref, found in have.objects.items()
    }
    plan = Plan((make_cluster_plan(desired({"a": "x\n"}), replace(have, objects=objects), PlanOptions()),))
    text = format_plan(plan, Style(verbose=True))
    assert "gone: data extra" in text
    assert "hidden-value" not in text


# -- JSON --


@pytest.mark.parametrize(
    "plan",
    [
        Plan(()),
        _plan({}, {}),
        _plan({"a": "x\n"}, {"a": "x\n"}),
        _plan({"a": 'née → \x01 \\ "\n', "b": "x\n"}, {"a": "old\n", "c": "gone\n"}, hosts=("h",)),
        Plan((*_plan({"a": "x\n"}, {}).clusters, *_plan({"a": "x\n"}, {"a": "y\n"}).clusters)),
    ],
)
def test_json_is_laid_out_as_python_does_it(plan: Plan) -> None:
    text = _json(plan, whole=True)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_json_carries_version_actions_reasons_and_a_summary() -> None:
    document = json.loads(_json(_plan({"a": "new\n"}, {"a": "old\n"})))
    assert document["formatVersion"] == "2.1"
    assert document["hasChanges"] is True
    assert document["summary"] == {"create": 0, "update": 2, "replace": 0, "delete": 0, "unchanged": 1}
    (cluster,) = document["clusters"]
    assert cluster["pools"] == {"desired": 1, "changed": 1, "deleted": 0, "failed": 0}
    change = cluster["changes"][0]
    assert (change["kind"], change["action"], change["side"]) == ("OperatingSystemConfig", "update", "management")
    assert change["pool"] == {"kind": "MachineDeployment", "namespace": "kube-system", "name": "a"}
    assert change["diffs"] == [
        {
            "name": "provisioning /opt/bin/setup",
            "state": "changed",
            "added": 1,
            "removed": 1,
            "lines": ["@@ -1 +1 @@", "-old", "+new"],
            "instead": "",
        }
    ]


def test_json_tells_refusals() -> None:
    plan = Plan((make_cluster_plan(Desired("prod", ()), current(desired({"a": "x\n"})), PlanOptions()),))
    refusal, _too_many = json.loads(_json(plan))["clusters"][0]["refusals"]
    assert "--allow-empty" in refusal["fix"]


def test_of_pools_that_change_alike_one_is_asked_for_its_secrets_and_all_are_masked() -> None:
    numbers = {"a": 71, "b": 71, "c": 72}
    names = frozenset({"provisioning /opt/bin/setup", "data cloud-config"})
    texts = {name: f"# {name}-kube-system\n  key: {number}\n" for name, number in numbers.items()}
    cluster = _plan(texts, dict.fromkeys(numbers, "# old\n")).clusters[0]
    drafted = draft(cluster, View())
    assert set(drafted.pools) == {pool("a"), pool("c")}
    secrets: dict[ObjectRef | None, SecretTexts] = {
        each: SecretTexts(frozenset({f"key: {numbers[each.name]}"}), names, known=names)
        for each in drafted.pools
        if each is not None
    }
    found = without_bodies(with_excerpts(cluster, [drafted], secrets))
    report = json.loads(_json(Plan((found,))))
    changes = report["clusters"][0]["changes"]
    assert {change["pool"]["name"] for change in changes} == {*numbers}
    for change in changes:
        added = [line for diff in change["diffs"] for line in diff["lines"] if line.startswith("+")]
        assert added == [f"+# {change['pool']['name']}-kube-system", "+  ***"], change


def test_a_rendered_plan_that_lacks_the_excerpt_of_a_view_shows_no_line() -> None:
    wanted = replace(desired({"a": "new line\n"}), rendered=True)
    cluster = make_cluster_plan(wanted, current(desired({"a": "old line\n"})), PlanOptions())
    other, shown = draft(cluster, View()), draft(cluster, View(together=True))
    nothing = dict.fromkeys(shown.pools, SecretTexts())
    # Nor does one of which it was not asked what is secret.
    for plan in (cluster, with_excerpts(cluster, [other], nothing), with_excerpts(cluster, [shown], {})):
        text = format_plan(Plan((plan,)), _STYLE)
        assert "***" in text
        assert " line" not in text
    prepared = with_excerpts(cluster, [shown], nothing)
    assert "new line" in format_plan(Plan((without_bodies(prepared),)), _STYLE)
