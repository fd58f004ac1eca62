"""The demo: it runs from a fresh folder, tells what it promises, shows no secret, and documents quote it truly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.running import osm_gitops
from tests.demo_fleet import DEMO, opened

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the demo made, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ran = subprocess.run(
        [str(DEMO / "run.sh")],
        env=kept
        | {
            "OSM_GITOPS_DEMO": str(folder),
            "OSM_GITOPS_ONLY": "nothing",  # the demo does not heed what the caller has set
            "SOPS_AGE_KEY": "nothing",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return folder, ran.stdout


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder / "fleet"), *arguments], capture_output=True, text=True, check=True
    ).stdout


def chapter(log: str, start: str) -> str:
    return log.split(f"\n» {start}", 1)[1].split("\n» ", 1)[0]


def test_every_cluster_is_committed_and_nothing_is_left_over(demo: tuple[Path, str]) -> None:
    folder, _ = demo
    assert git(folder, "status", "--porcelain") == ""
    subjects = git(folder, "log", "--format=%s").splitlines()
    assert subjects[-4:] == [
        "osm-gitops: dev: 4 created, 0 updated, 0 deleted",
        "osm-gitops: edge-lab: 9 created, 0 updated, 0 deleted",
        "osm-gitops: prod-eu: 16 created, 0 updated, 0 deleted",
        "Demo fleet",
    ]


def test_pools_boot_from_built_in_profiles_and_from_the_demos_own(demo: tuple[Path, str]) -> None:
    folder, log = demo
    told = chapter(log, "The fleet")
    for name in ("osp-rhel", "osp-ubuntu", "osp-rockylinux"):
        assert f"+ create OperatingSystemProfile kube-system/{name}: new profile, built-in v2.1.0\n" in told
    for name in ("demo-ubuntu", "demo-flatcar", "demo-rockylinux"):
        assert f"+ create OperatingSystemProfile kube-system/{name}: new profile\n" in told
    assert "profilesVersion: v2.1.0" in (folder / "fleet" / "osm-gitops.yaml").read_text("utf-8")


def test_a_pool_is_explained_by_its_profile_and_the_lines_of_its_values(demo: tuple[Path, str]) -> None:
    told = chapter(demo[1], "Pool kiosk")
    assert "\n  kube-system/osp-ubuntu v2.1.0 (built in, v2.1.0; templates: jinja2/v1)\n" in told
    assert "name: the default for ubuntu, as no annotation names one" in told
    values = re.findall(r"^  ([a-z]\S+) +(\S+) +builtin:air-gapped/overlay.yaml:\d+$", told, re.MULTILINE)
    assert ("downloads.kubernetes", "http://192.168.8.2/dl.k8s.io") in values
    assert "default\n" not in told


def test_a_site_without_the_internet_downloads_from_its_own_mirror_alone(demo: tuple[Path, str]) -> None:
    files = re.findall(r"^  (\S+:/\S+)$", chapter(demo[1], "Which hosts"), re.MULTILINE)
    assert len(files) == 8
    assert [name for name in files if not name.startswith("http://192.168.8.2/")] == []


def test_a_rotated_password_reaches_every_pool_of_its_cluster_and_is_not_shown(demo: tuple[Path, str]) -> None:
    _, log = demo
    told = chapter(log, "1. ")
    assert "-*** (before)\n" in told
    assert "+*** (after)\n" in told
    assert "4 pools, alike: " in told
    assert '+sandbox = "harbor.example.com/k8s/pause:3.10.1"' in told
    assert "Plan: 0 to create, 8 to update, 0 to replace, 0 to delete, 21 unchanged." in told


def test_no_credential_of_the_fleet_is_ever_printed_or_in_git(demo: tuple[Path, str]) -> None:
    folder, log = demo
    text = str([opened(path.read_text("utf-8")) for path in DEMO.rglob("secrets.yaml")])
    secrets = set(re.findall(r"demo-[a-z-]*(?:token|password)[a-z-]*", text))
    assert len(secrets) == 5
    history = git(folder, "log", "--all", "--patch")
    assert [secret for secret in sorted(secrets) if secret in log or secret in history] == []
    assert "ENC[AES256_GCM," in history


def test_an_edit_shows_as_a_diff_of_the_files_inside_and_a_pool_that_is_gone_as_deleted(demo: tuple[Path, str]) -> None:
    _, log = demo
    told = chapter(log, "2. ")
    kubernetes = "kubernetes='https://dl.k8s.io'/{}/bin/linux/$arch"
    for line in (f"-{kubernetes.format('v1.34.2')}", f"+{kubernetes.format('v1.35.0')}", "+vm.max_map_count = 1048576"):
        assert f"        {line}\n" in told
    assert "- delete Secret cloud-init-settings/build-kube-system-bootstrap-config: pool is gone" in told
    assert "/database-kube-system" not in told


def test_a_patched_profile_gets_a_version_of_its_own_from_what_is_in_it(demo: tuple[Path, str]) -> None:
    told = chapter(demo[1], "2. ")
    before, after = re.findall(r"profile version v2\.1\.0\+prod-eu\.(\S+) → v2\.1\.0\+prod-eu\.([^;\s]+)", told)[0]
    assert before != after


def test_the_validator_tells_a_mistake_at_its_line_before_it_is_planned(demo: tuple[Path, str]) -> None:
    told, _, _ = chapter(demo[1], "3. ").partition("$ osm-gitops plan")
    assert "\nosps/demo-flatcar.yaml:81: error unknown-field: where this is reached, rendering fails: " in told
    assert told.endswith("\n(exit code 1)\n")


def test_a_mistake_stops_its_pool_and_no_other(demo: tuple[Path, str]) -> None:
    folder, log = demo
    told = chapter(log, "3. ").partition("$ osm-gitops plan")[2]
    assert "Error: osps/demo-flatcar.yaml:81: OperatingSystemProfile kube-system/demo-flatcar" in told
    assert "did you mean KubeVersion?" in told
    assert "+kubernetes='https://dl.k8s.io'/v1.36.1/bin/linux/$arch\n" in told
    assert "(exit code 1)" in told
    assert (
        folder / "fleet/clusters/edge-lab/management/operatingsystemconfigs/gateway-kube-system-config.yaml"
    ).exists()


def test_nothing_to_do_is_said(demo: tuple[Path, str]) -> None:
    assert "\nNo changes.\n" in chapter(demo[1], "4. ")


def test_what_is_rendered_outside_of_git_is_what_git_first_got(demo: tuple[Path, str]) -> None:
    folder, _ = demo
    first = git(folder, "log", "--format=%H", "--grep", "dev: 4 created").strip()
    for path in sorted((folder / "rendered" / "dev").rglob("*.yaml")):
        text, kept = (
            path.read_text("utf-8"),
            git(folder, "show", f"{first}:clusters/{path.relative_to(folder / 'rendered')}"),
        )
        if "ENC[" in kept:
            assert opened(kept) == [yaml.safe_load(text)]
        else:
            assert kept == text
    assert not (folder / "rendered" / "prod-eu").exists()


def test_the_fleet_is_as_large_as_it_says() -> None:
    """Three clusters, seven pools, four operating systems, six providers; profiles of both kinds, and built-in ones."""
    fleet = yaml.safe_load((DEMO / "osm-gitops.yaml").read_text("utf-8"))
    documents = [
        document for path in sorted(DEMO.glob("*/*.yaml")) for document in yaml.safe_load_all(path.read_text("utf-8"))
    ]
    pools = [each for each in documents if each["kind"] == "MachineDeployment"]
    values = [pool["spec"]["template"]["spec"]["providerSpec"]["value"] for pool in pools]
    counts = (len(fleet["clusters"]), len(pools), *(len({each[key] for each in values}) for key in _COUNTED))
    assert counts == (3, 7, 4, 6)
    marks = [each["metadata"].get("annotations") for each in documents if each["kind"] == "OperatingSystemProfile"]
    assert marks.count({"osm-gitops.io/template": "jinja2/v1"}) == 1
    assert marks.count(None) == 2
    annotations = [pool["metadata"].get("annotations", {}) for pool in pools]
    names = [each.get("k8c.io/operating-system-profile", "built in") for each in annotations]
    assert sorted(names) == [*["built in"] * 4, "demo-flatcar", "demo-rockylinux", "demo-ubuntu"]


_COUNTED = ("operatingSystem", "cloudProvider")


@pytest.mark.oracle
def test_the_demo_is_what_the_validator_asks_for() -> None:
    ran = osm_gitops("validate", "--fleet", str(DEMO / "osm-gitops.yaml"), "--severity", "warning", "--strict")
    assert (ran.code, ran.out.count("\n")) == (0, 1), ran.out + ran.err


@pytest.mark.parametrize(("page", "mark", "number"), [("README.md", "»", 1), ("docs/tutorials/demo.md", "", 9)])
def test_documents_quote_the_demo_truly(demo: tuple[Path, str], page: str, mark: str, number: int) -> None:
    """Line by line and in order; ``…`` stands for what is left out."""
    text = (ROOT / page).read_text("utf-8")
    quoted = [block for block in re.findall(r"^```text\n((?:.*\n)*?)```$", text, re.MULTILINE) if mark in block]
    assert len(quoted) == number
    printed = iter(line.rstrip() for line in demo[1].splitlines())
    for line in "".join(quoted).splitlines():
        assert line == "…" or line in printed, line


def test_a_document_quotes_the_demos_mistake_truly(demo: tuple[Path, str]) -> None:
    page = (ROOT / "docs" / "how-to" / "plans.md").read_text("utf-8")
    quoted = re.findall(r"^```text\n(Error: .*)\n```$", page, re.MULTILINE)
    assert len(quoted) == 1
    assert any(line.startswith(quoted[0]) for line in demo[1].splitlines())
