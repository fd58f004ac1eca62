"""Flags, environment and fleet file: who wins, what can be pasted, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import objects_of, pool, profile, user_data, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import new_repository

_DNS = "#!/bin/sh\necho {{ index .ClusterDNSIPs 0 }}\n"


def _tree(folder: Path) -> Path:
    return write_tree(folder, profile(script=_DNS), pool())


def _dns(ran: Ran) -> str:
    """Which cluster DNS a render to stdout used."""
    assert ran.code == 0, ran.err
    text = objects_of(ran.out)["OperatingSystemConfig", "workers-kube-system-config"]
    script = text["spec"]["bootstrapConfig"]["files"][0]["content"]["inline"]["data"]
    return str(script).rsplit(maxsplit=1)[-1]


def test_a_flag_beats_the_environment_beats_the_cluster_beats_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path / "tree")
    entry = "- {name: a, from: tree%s}\n"
    render = ("render", "--to", "-")
    write_fleet(tmp_path, "clusters:\n" + entry % "")
    assert _dns(osm_gitops(*render)) == "10.10.10.10"
    defaults = "defaults: {settings: {clusterDNS: 10.0.0.1}}\nclusters:\n"
    write_fleet(tmp_path, defaults + entry % "")
    assert _dns(osm_gitops(*render)) == "10.0.0.1"
    write_fleet(tmp_path, defaults + entry % ", settings: {clusterDNS: 10.0.0.2}")
    assert _dns(osm_gitops(*render)) == "10.0.0.2"
    monkeypatch.setenv("OSM_GITOPS_CLUSTER_DNS", "10.0.0.3")
    assert _dns(osm_gitops(*render)) == "10.0.0.3"
    assert _dns(osm_gitops(*render, "--cluster-dns", "10.0.0.4")) == "10.0.0.4"


def test_the_environment_names_source_target_and_cluster_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tree(tmp_path / "tree")
    monkeypatch.setenv("OSM_GITOPS_FROM", "tree")
    monkeypatch.setenv("OSM_GITOPS_TO", "out")
    monkeypatch.setenv("OSM_GITOPS_CLUSTER", "prod")
    assert osm_gitops("render").code == 0
    assert (tmp_path / "out/prod/worker/kustomization.yaml").is_file()


def test_switches_and_lists_come_from_the_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path / "tree", profile(script="{{ .ExternalCloudProvider }}"), pool())
    monkeypatch.setenv("OSM_GITOPS_EXTERNAL_CLOUD_PROVIDER", "true")
    monkeypatch.setenv("OSM_GITOPS_NODE_CONTAINERD_REGISTRY_MIRRORS", "a.io=https://x b.io=https://y")
    command = ("render", "--from", "tree", "--to", "-")
    ran = osm_gitops(*command)
    assert _dns(ran) == "true"
    assert "certs.d/a.io/" in ran.out
    assert "certs.d/b.io/" in ran.out
    assert _dns(osm_gitops(*command, "--no-external-cloud-provider")) == "false"


def test_a_bad_value_names_the_flag_or_the_variable_it_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path / "tree")
    ran = osm_gitops("render", "--from", "tree", "--to", "-", "--cluster-dns", "x")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.INVALID_VALUE, "flag --cluster-dns") in told(ran.err)
    monkeypatch.setenv("OSM_GITOPS_CLUSTER_DNS", "x")
    assert Expected(Code.INVALID_VALUE, "environment OSM_GITOPS_CLUSTER_DNS") in told(
        osm_gitops("render", "--from", "tree", "--to", "-").err
    )


def test_all_bad_settings_are_told_at_once(tmp_path: Path) -> None:
    _tree(tmp_path / "tree")
    flags = ("-cluster-dns=x", "-node-kubelet-feature-gates=a", "-node-registry-credentials-secret=b")
    ran = osm_gitops("render", "--from", "tree", "--to", "-", *flags)
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 3


def test_the_args_of_operating_system_manager_can_be_pasted(tmp_path: Path) -> None:
    _tree(tmp_path / "tree")
    pasted = (
        "-kubeconfig=/etc/kubernetes/kubeconfig/kubeconfig",
        "-worker-cluster-kubeconfig",
        "/etc/kubernetes/worker",
        "-cluster-dns=10.240.16.10",
        "-external-cloud-provider=false",
        "-health-probe-address=0.0.0.0:8085",
        "-metrics-address",
        "0.0.0.0:8080",
        "-namespace=kube-system",
        "-leader-elect",
        "-log-debug=false",
        "-worker-count=20",
        "-container-runtime=containerd",
    )
    ran = osm_gitops("render", "--from", "tree", "--to", "-", *pasted)
    assert _dns(ran) == "10.240.16.10"
    passed_over = [line.split()[0] for line in ran.err.splitlines()]
    assert [name.lstrip("-") for name in passed_over] == [
        "health-probe-address",
        "metrics-address",
        "leader-elect",
        "log-debug",
        "worker-count",
        "kubeconfig",
        "worker-cluster-kubeconfig",
    ]


@pytest.mark.parametrize("flag", ["--kubeconfig", "--context", "--worker-cluster-kubeconfig", "--worker-context"])
def test_connections_are_passed_over_with_a_word(tmp_path: Path, flag: str) -> None:
    _tree(tmp_path / "tree")
    ran = osm_gitops("plan", "--from", "tree", "--to", "out", flag, "x")
    assert ran.code == 0
    assert ran.err == f"{flag} is ignored: a run from trees to git does not use it\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--bad"), "No such option: --bad"),
        (("nothing",), "No such command 'nothing'"),
        (("plan", "-o", "xml"), "'xml' is not one of 'text', 'json'"),
        (("plan", "--max-changed-pools", "-1"), "-1 is not in the range"),
        (("plan", "--from", "x", "--to", "y", "--max-delete", "half"), "--max-delete"),
        (("plan", "-cluster-dnss=1.2.3.4"), "Did you mean -cluster-dns?"),
        (("plan", "-leader-elect=maybe"), "Write true or false"),
        (("plan", "--from", "x"), "--from also needs --to"),
        (("render", "--from", "x"), "render needs --to"),
        (("plan",), "no --from, and no fleet file osm-gitops.yaml"),
        (("plan", "--fleet", "none.yaml"), "none.yaml: the fleet file cannot be read"),
        (("plan", "--from", "x", "--to", "y", "--cluster", "a/b"), "'a/b' cannot be the name of a file or folder"),
        (("plan", "--from", "x", "--to", "y", "--cluster", ".."), "'..' cannot be the name of a file or folder"),
        (("render", "--from", "none", "--to", "-"), "none: cluster default: the source cannot be read"),
        (("apply", "--push=1"), "--push"),
    ],
)
def test_a_slip_on_the_command_line_is_a_sentence_and_exit_code_1(arguments: tuple[str, ...], said: str) -> None:
    ran = osm_gitops(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: ")
    assert said in ran.err


def test_render_writes_to_no_cluster() -> None:
    ran = osm_gitops("render", "--from", "tree", "--to", "cluster")
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [Expected(Code.INVALID_OPTION, "--to cluster: ", "./cluster")]


def test_the_help_comes_on_stdout_and_without_arguments_too() -> None:
    ran = osm_gitops("--help")
    assert (ran.code, ran.err) == (0, "")
    assert "Exit codes: 0 done, 1 failed" in ran.out
    ran = osm_gitops()
    assert ran.code == 1
    assert ran.err.startswith("Usage: osm-gitops")


@pytest.mark.parametrize("command", ["render", "plan", "apply"])
def test_every_command_explains_itself(command: str) -> None:
    ran = osm_gitops(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    for flag in ("--from", "--to", "--only", "--cluster-dns", "--no-external-cloud-provider", "--kubeconfig"):
        assert flag in ran.out


def test_the_version_is_told() -> None:
    assert osm_gitops("--version").out.startswith("osm-gitops ")


def test_a_fleet_file_is_found_above_and_its_paths_start_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tree(tmp_path / "tree")
    write_fleet(tmp_path, "clusters: [{name: a, from: tree, to: {git: {path: out}}}]")
    deep = tmp_path / "some" / "where"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    ran = osm_gitops("plan")
    assert ran.code == 0, ran.err
    assert "Plan: 4 to create" in ran.out
    assert _dns(osm_gitops("render", "--to", "-")) == "10.10.10.10"


def test_cluster_chooses_one_of_a_fleet(tmp_path: Path) -> None:
    _tree(tmp_path / "tree")
    fleet = write_fleet(tmp_path / "repo", "clusters: [{name: a, from: ../tree}, {name: b, from: ../none}]")
    ran = osm_gitops("render", "--to", "out", "--fleet", str(fleet), "--cluster", "a")
    assert ran.code == 0, ran.err
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["a"]
    ran = osm_gitops("render", "--to", "out", "--fleet", str(fleet), "--cluster", "c")
    assert told(ran.err) == [Expected(Code.CLUSTER_NOT_FOUND, "repo/osm-gitops.yaml", '"c"')]


def test_one_cluster_that_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    _tree(tmp_path / "tree")
    write_fleet(tmp_path, "clusters: [{name: a, from: none}, {name: b, from: tree}]")
    ran = osm_gitops("render", "--to", "out")
    assert ran.code == 1
    assert Expected(Code.SOURCE_NOT_FOUND) in told(ran.err)
    assert (tmp_path / "out/b/worker/secrets").is_dir()


def test_machines_profiles_and_facts_may_come_from_three_places(tmp_path: Path) -> None:
    write_tree(tmp_path / "facts")
    for name, body in (("osps", profile(script=_DNS)), ("pools", pool())):
        write_tree(tmp_path / name, body, token="a token that is not meant")
    fleet = "clusters: [{name: a, from: {machineDeployments: pools, profiles: osps, facts: facts}}]"
    write_fleet(tmp_path, fleet)
    ran = osm_gitops("render", "--to", "-")
    assert _dns(ran) == "10.10.10.10"
    ran = osm_gitops("render", "--to", "-", "--from", "pools", "--profiles-from", "osps")
    assert _dns(ran) == "10.10.10.10"


def test_a_target_flag_wins_over_the_fleet_file(tmp_path: Path) -> None:
    _tree(tmp_path / "tree")
    new_repository(tmp_path / "repo")
    write_fleet(tmp_path, "clusters: [{name: a, from: tree, to: {git: {path: nowhere, branch: other}}}]")
    ran = osm_gitops("apply", "--yes", "--to", "repo/x", "--dangerously-plaintext-secrets")
    assert ran.code == 0, ran.err
    assert (tmp_path / "repo/x/a/worker").is_dir()
    assert not (tmp_path / "nowhere").exists()


def test_the_bootstrap_secret_carries_what_the_profile_wrote(tmp_path: Path) -> None:
    _tree(tmp_path / "tree")
    objects = objects_of(osm_gitops("render", "--from", "tree", "--to", "-").out)
    assert user_data(objects, "workers-kube-system-bootstrap-config").startswith("#cloud-config\nhostname: ")
