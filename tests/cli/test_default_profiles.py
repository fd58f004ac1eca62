"""The built-in profiles in runs: at hand where a source has none of the name, and who wins in a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.sources import builtin
from tests.apiserver.after_osm import REVISION
from tests.apiserver.client import Client, Object, Refused
from tests.apiserver.osm_deployment import osm
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import objects_of, pool, profile, user_data, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import new_repository
from tests.profiles.sets import SOURCE, write_set

_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"
_PROFILES = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles"


@pytest.fixture(autouse=True)
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sets in the place of those that are shipped: ``osp-a`` in v2.0.0 and v2.1.0, which newly says hello."""
    folder = tmp_path / "sets"
    for version, greeting in (("v2.0.0", ""), ("v2.1.0", "echo hello\n")):
        parts = {"greet.sh": "#!/bin/sh\n" + greeting, "name.sh": "#!/bin/sh\necho {{ KubeVersion }}\n"}
        write_set(folder, {"osp-a": SOURCE}, parts, version)
    monkeypatch.setattr(builtin, "FOLDER", folder)
    return folder


# --- trees ---


def _rendered(*more: str) -> dict[tuple[str, str], dict[str, Any]]:
    ran = osm_gitops("render", "--from", "tree", "--to", "-", *more)
    assert ran.code == 0, ran.err
    return objects_of(ran.out)


def test_a_pool_gets_the_built_in_profile_where_the_source_has_none_of_the_name(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    found = _rendered()
    written = found["OperatingSystemProfile", "osp-a"]
    assert written["spec"]["version"] == "v2.1.0"
    assert written["spec"]["bootstrapConfig"]["templates"] == {"greet.sh": "#!/bin/sh\necho hello\n"}
    assert written["metadata"]["annotations"]["osm-gitops.io/built-in"] == "v2.1.0"
    assert "echo v1.34.2" in user_data(found, "workers-kube-system-provisioning-config")


def test_a_profile_in_another_namespace_that_loses_to_the_built_in_one_gives_a_warning(tmp_path: Path) -> None:
    custom = profile()
    custom["metadata"]["namespace"] = "default"
    write_tree(tmp_path / "tree", pool(), custom)
    assert _rendered()["OperatingSystemProfile", "osp-a"]["spec"]["version"] == "v2.1.0"
    (warning,) = told(osm_gitops("render", "--from", "tree", "--to", "-").err)
    assert warning[0] is Code.PROFILE_IN_OTHER_NAMESPACE
    assert "OperatingSystemProfile default/osp-a: metadata.namespace" in warning[1]


def test_no_built_in_profile_takes_the_place_of_one_that_cannot_be_read(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repo")
    write_tree(repository / "tree", pool(), profile())
    arguments = ("apply", "--from", "repo/tree", "--to", "repo/state", "--yes", "--dangerously-plaintext-secrets")
    assert osm_gitops(*arguments).code == 0
    before = {path: path.read_bytes() for path in (repository / "state").rglob("*.yaml")}
    broken = repository / "tree/OperatingSystemProfile-osp-a.yaml"
    broken.write_text(broken.read_text("utf-8") + "  bad: [\n", "utf-8")
    ran = osm_gitops(*arguments)
    assert ran.code == 1
    assert "the built-in profile is not used: an unreadable document may contain one of this name" in ran.err
    assert {path: path.read_bytes() for path in (repository / "state").rglob("*.yaml")} == before
    assert "osp-a" in osm_gitops("osp", "list", "--from", "repo/tree").out


def test_what_was_rendered_renders_again_as_a_source_of_its_own(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    found = _rendered()
    write_tree(tmp_path / "tree", found["OperatingSystemProfile", "osp-a"])
    again = _rendered("--disable-default-osps")
    assert again == found


def test_a_profile_of_the_source_wins(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool(), profile())
    assert _rendered()["OperatingSystemProfile", "osp-a"]["spec"]["version"] == "v1.0.0"
    assert _rendered("--replace-default-osps")["OperatingSystemProfile", "osp-a"]["spec"]["version"] == "v1.0.0"


def test_a_broken_profile_of_the_source_is_not_papered_over(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool(), profile(version="one"))
    ran = osm_gitops("render", "--from", "tree", "--to", "-")
    assert ran.code == 1
    assert Expected(Code.INVALID_VALUE) in told(ran.err)


def test_a_pool_with_a_misspelt_profile_is_told_of_the_built_in_ones(tmp_path: Path) -> None:
    body = pool()
    body["metadata"]["annotations"]["k8c.io/operating-system-profile"] = "osp-aa"
    write_tree(tmp_path / "tree", body)
    for command in (("plan", "--to", "out"), ("validate",)):
        ran = osm_gitops(*command, "--from", "tree")
        assert " kube-system/osp-a" in ran.out + ran.err
    ran = osm_gitops("plan", "--from", "tree", "--to", "out", "--disable-default-osps")
    assert Expected(Code.PROFILE_NOT_FOUND) in told(ran.out + ran.err)


def test_a_pool_that_looks_in_another_namespace_finds_no_built_in_profile(tmp_path: Path) -> None:
    there = {"k8c.io/operating-system-profile-namespace": "elsewhere"}
    write_tree(tmp_path / "tree", pool(annotations=there))
    ran = osm_gitops("render", "--from", "tree", "--to", "-")
    assert (ran.code, '"osp-a" not found in namespace elsewhere' in ran.err) == (1, True)


def test_without_the_built_in_profiles_there_are_none(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    ran = osm_gitops("render", "--from", "tree", "--to", "-", "--disable-default-osps")
    assert (ran.code, 'OperatingSystemProfile "osp-a" not found' in ran.err) == (1, True)


def _fleet(tmp_path: Path, pin: str) -> None:
    write_tree(tmp_path / "tree", pool())
    text = f"defaults: {{{pin} to: {{git: {{path: out}}}}}}\nclusters: [{{name: one, from: tree}}]"
    write_fleet(tmp_path, text)


def test_a_fleet_pins_a_version_and_a_plan_shows_what_another_one_would_do(tmp_path: Path) -> None:
    _fleet(tmp_path, "profilesVersion: v2.0.0,")
    assert osm_gitops("render", "--to", "out").code == 0
    assert osm_gitops("plan").out == "No changes.\n"
    ran = osm_gitops("plan", "--profiles-version", "v2.1.0", "-o", "json")
    assert ran.code == 0
    (cluster,) = json.loads(ran.out)["clusters"]
    reasons = {change["kind"]: change["reason"] for change in cluster["changes"] if change["action"] == "update"}
    assert reasons["OperatingSystemProfile"].startswith("built-in profile v2.0.0 → v2.1.0; ")
    assert reasons["OperatingSystemConfig"] == "profile version v2.0.0 → v2.1.0; changed: bootstrap /opt/bin/bootstrap"
    assert "built-in profiles v2.1.0" in cluster["sources"]
    assert osm_gitops("plan").out == "No changes.\n"


def test_the_plan_says_that_a_new_profile_is_built_in(tmp_path: Path) -> None:
    _fleet(tmp_path, "")
    assert "OperatingSystemProfile kube-system/osp-a: new profile, built-in v2.1.0" in osm_gitops("plan").out


def test_a_later_release_changes_nothing_for_who_pinned_a_version(tmp_path: Path, sets: Path) -> None:
    _fleet(tmp_path, "profilesVersion: v2.1.0,")
    osm_gitops("render", "--to", "out")
    write_set(sets, {"osp-a": SOURCE}, {"greet.sh": "new\n", "name.sh": "new\n"}, "v3.0.0")
    assert osm_gitops("plan").out == "No changes.\n"


def test_an_unknown_version_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    _fleet(tmp_path, "profilesVersion: v2.7.0,")
    assert told(osm_gitops("plan").err) == [
        Expected(
            Code.UNKNOWN_PROFILES_VERSION, "osm-gitops.yaml:3", "defaults.profilesVersion", "v2.7.0", "v2.0.0, v2.1.0"
        )
    ]
    assert osm_gitops("plan", "--profiles-version", "v2.1.0").code == 0


# --- clusters ---


def _add_pool(adopted: Adopted) -> None:
    """A pool whose profile OSM never had."""
    body = pool("web", annotations={REVISION: "1"})
    body["spec"]["template"]["metadata"] = {"labels": {"pool": "web"}}
    adopted.osm.create(body, "kubectl")
    adopted.osm.machine_set("web")


def _client(adopted: Adopted) -> Client:
    return adopted.osm.management.client()


def _live(adopted: Adopted) -> Object:
    return _client(adopted).get(f"{_PROFILES}/osp-a")


def _bootstrap(adopted: Adopted) -> str:
    ran = adopted.run("apply")
    assert ran.code == 0, ran.err
    return str(adopted.secret("web-kube-system-bootstrap-config")["metadata"]["annotations"]["k8c.io/osp-version"])  # type: ignore[index] # JSON


def test_a_cluster_gets_the_built_in_profile_that_a_pool_of_it_needs(adopted: Adopted) -> None:
    _add_pool(adopted)
    assert _bootstrap(adopted) == "v2.1.0"
    live = _live(adopted)
    assert live["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "osm-gitops"
    assert live["spec"]["version"] == "v2.1.0"
    assert adopted.run("plan").out.endswith("\nNo changes.\n")


def test_what_we_wrote_follows_the_pinned_version(adopted: Adopted) -> None:
    _add_pool(adopted)
    adopted.run("apply", "--profiles-version", "v2.0.0")
    assert _live(adopted)["spec"]["version"] == "v2.0.0"
    assert adopted.run("plan", "--profiles-version", "v2.0.0").out.endswith("\nNo changes.\n")
    assert _bootstrap(adopted) == "v2.1.0"
    assert _live(adopted)["spec"]["version"] == "v2.1.0"


def test_what_somebody_else_put_into_the_cluster_counts_as_theirs(adopted: Adopted) -> None:
    _add_pool(adopted)
    adopted.osm.create(profile(), "kubectl")
    before = _live(adopted)
    assert _bootstrap(adopted) == "v1.0.0"
    assert _live(adopted) == before


def test_even_with_our_label_a_profile_that_is_not_built_in_stays(adopted: Adopted) -> None:
    _add_pool(adopted)
    body = profile()
    body["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "osm-gitops"}
    adopted.osm.create(body, "kubectl")
    assert _bootstrap(adopted) == "v1.0.0"


def test_the_built_in_profile_takes_the_place_of_another_one_only_when_asked(adopted: Adopted) -> None:
    _add_pool(adopted)
    adopted.osm.create(profile(), "kubectl")
    ran = adopted.run("apply", "--replace-default-osps", "--force-conflicts")
    assert ran.code == 0, ran.err
    assert _live(adopted)["spec"]["version"] == "v2.1.0"
    assert _bootstrap(adopted) == "v2.1.0"


def test_without_built_in_profiles_what_we_wrote_stays_and_is_used(adopted: Adopted) -> None:
    _add_pool(adopted)
    adopted.run("apply", "--profiles-version", "v2.0.0")
    ran = adopted.run("plan", "--disable-default-osps")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No changes.")


def test_nothing_in_jinja_goes_where_osm_would_read_it(adopted: Adopted) -> None:
    _add_pool(adopted)
    controller = osm("-namespace=kube-system")
    _client(adopted).create(controller)
    ran = adopted.run("apply")
    assert ran.code == 1
    manager = "Operating System Manager (Deployment kube-system/operating-system-manager)"
    assert Expected(Code.JINJA_PROFILE_BESIDE_OSM, "osp-a", manager) in told(ran.err)
    with pytest.raises(Refused):
        _live(adopted)


def test_a_built_in_profile_that_no_pool_uses_any_more_stays_in_the_cluster(adopted: Adopted) -> None:
    _add_pool(adopted)
    adopted.run("apply")
    client = adopted.osm.worker.client()
    client.merge(f"{_MACHINES}/web", {"metadata": {"finalizers": None}})
    client.delete(f"{_MACHINES}/web")
    ran = adopted.run("apply")
    assert ran.code == 0, ran.err
    assert _live(adopted)["spec"]["version"] == "v2.1.0"


def _from_tree(adopted: Adopted, *more: str) -> Ran:
    """A run with profiles of a tree that has none."""
    tree = write_tree(adopted.folder / "tree")
    return adopted.run("apply", "--profiles-from", str(tree), "--only", "web", *more)


def test_with_profiles_of_a_tree_a_pool_fails_where_the_cluster_has_another_ones_profile(adopted: Adopted) -> None:
    _add_pool(adopted)
    adopted.osm.create(profile(), "kubectl")
    before = _live(adopted)
    ran = _from_tree(adopted)
    assert ran.code == 1
    assert Expected(Code.PROFILE_NAME_TAKEN) in told(ran.err)
    assert _live(adopted) == before
    assert _from_tree(adopted, "--replace-default-osps", "--force-conflicts").code == 0
    assert _live(adopted)["spec"]["version"] == "v2.1.0"


def test_all_pools_that_osm_left_go_over_to_the_profiles_that_are_shipped_when_asked(
    adopted: Adopted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "FOLDER", builtin.data_folder("osps"))
    ran = adopted.run("apply", "--replace-default-osps")
    assert (ran.code, ran.err) == (0, "default: 5 pools and objects of no pool written\n")
    live = _client(adopted).get(_PROFILES)["items"]
    versions = {each["metadata"]["name"]: each["spec"]["version"] for each in live}
    # Flatcar by cloud-init is used by none of them.
    assert versions == dict.fromkeys(versions, builtin.newest()) | {"osp-flatcar-cloud-init": "v1.11.2"}
    assert adopted.run("plan").out.endswith("\nNo changes.\n")
