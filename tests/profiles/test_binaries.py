"""Kubelet, kubectl, CNI plugins and crictl: from where, in which version, with which checksum, and what if not."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from tests.profiles.releases import CONTENTS, KUBELET, addresses, publish
from tests.profiles.rendering import render
from tests.profiles.sandbox import Machine

MINORS: Final = range(31, 37)


def _setup(kubelet: str = KUBELET, **options: object) -> str:
    """What installs the binaries, without what comes before and after it."""
    script = render("osp-flatcar", "openstack", kubelet, **options).file("/opt/bin/setup")  # type: ignore[arg-type]
    begin, end = script.index("retry()"), script.index("version=$(containerd")
    return "set -euo pipefail\n" + script[begin:end]


def _machine(folder: Path, arch: str = "x86_64", urls: Sequence[str] = (), failures: int = 0) -> Machine:
    return publish(Machine(folder, arch), urls, failures)


def _asked(machine: Machine) -> list[str]:
    """The addresses that curl was asked for."""
    return [word for call in machine.called("curl ") for word in call.split() if word.startswith("http")]


@pytest.mark.parametrize(("kernel", "arch"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_binaries_of_the_machines_architecture_are_installed(tmp_path: Path, kernel: str, arch: str) -> None:
    machine = _machine(tmp_path, kernel, addresses(arch))
    result = machine.run(_setup())
    assert result.returncode == 0, result.stderr
    assert machine.path("/opt/bin/kubelet").read_bytes() == b"the kubelet"
    assert machine.path("/opt/bin/kubectl").read_bytes() == b"the kubectl"
    assert machine.path("/opt/bin/kubelet").resolve().stat().st_mode & 0o777 == 0o755
    assert {each.name for each in machine.path("/opt/cni/bin").iterdir()} == {"bridge", "loopback"}
    assert machine.path("/usr/local/bin/crictl").resolve() == machine.path("/opt/bin/crictl")


def test_another_architecture_is_refused_by_name(tmp_path: Path) -> None:
    result = _machine(tmp_path, "riscv64").run(_setup())
    assert result.returncode == 1
    assert "there is no kubelet for riscv64" in result.stderr


def test_a_second_run_downloads_checksums_only(tmp_path: Path) -> None:
    machine = _machine(tmp_path)
    assert machine.run(_setup()).returncode == 0
    first = len(_asked(machine))
    assert machine.run(_setup()).returncode == 0
    assert _asked(machine)[first:] == [f"{url}.sha256" for url in addresses()]


def test_downloads_are_tried_again_until_they_work_and_wait_longer_each_time(tmp_path: Path) -> None:
    machine = _machine(tmp_path, failures=3)
    result = machine.run(_setup())
    assert result.returncode == 0, result.stderr
    assert machine.called("sleep")[:6] == ["sleep 1", "sleep 2", "sleep 4", "sleep 8", "sleep 16", "sleep 32"]


@pytest.mark.parametrize("position", range(4))
def test_bug_258_nothing_with_a_wrong_checksum_is_installed(tmp_path: Path, position: int) -> None:
    machine = _machine(tmp_path)
    machine.serve(addresses()[position], CONTENTS[position], sum_of=b"what was published")
    machine.command("sleep", "exit 1")
    result = machine.run(_setup().replace('sleep "$pause"', 'sleep "$pause" || exit 9'))
    assert result.returncode == 9
    assert "does not have the checksum" in result.stderr
    assert not any(each.read_bytes() == CONTENTS[position] for each in tmp_path.rglob("opt/**/*") if each.is_file())
    assert not any(tmp_path.rglob("*.unverified"))


def test_bug_258_a_checksum_file_without_a_name_counts_as_well_as_one_with_it(tmp_path: Path) -> None:
    machine = _machine(tmp_path)
    bare = machine.folder / "served" / sha256(f"{addresses()[1]}.sha256\n".encode()).hexdigest()
    bare.write_text(sha256(CONTENTS[1]).hexdigest())
    assert machine.run(_setup()).returncode == 0


_SUMS: Final = dict(
    zip(("cni", "crictl", "kubelet", "kubectl"), (sha256(each).hexdigest() for each in CONTENTS), strict=True)
)


@pytest.mark.parametrize(
    "sums",
    [
        {name: {"amd64": value, "arm64": "0" * 64} for name, value in _SUMS.items()},
        {
            "cni": {"v1.9.1": {"amd64": _SUMS["cni"]}},
            "crictl": {"v1.35.0": {"amd64": _SUMS["crictl"]}, "v1.36.0": {"amd64": "0" * 64}},
            "kubelet": {f"v{KUBELET}": {"amd64": _SUMS["kubelet"]}, "amd64": "0" * 64},
            "kubectl": {"v1.36.0": {"amd64": "0" * 64}, "amd64": _SUMS["kubectl"]},
        },
    ],
    ids=["of any version", "by version"],
)
def test_a_checksum_of_a_value_is_what_counts_and_none_is_downloaded(tmp_path: Path, sums: dict[str, object]) -> None:
    machine = _machine(tmp_path)
    result = machine.run(_setup(values={"checksums": sums}))
    assert result.returncode == 0, result.stderr
    assert _asked(machine) == addresses()


def test_a_checksum_of_another_version_is_not_taken(tmp_path: Path) -> None:
    machine = _machine(tmp_path)
    assert machine.run(_setup(values={"checksums": {"kubelet": {"v1.36.0": {"amd64": "0" * 64}}}})).returncode == 0
    assert f"{addresses()[2]}.sha256" in _asked(machine)


@pytest.mark.parametrize("end", ["", "/"])
def test_every_download_comes_from_where_values_say(tmp_path: Path, end: str) -> None:
    """Not every mirror finds what is asked for behind two slashes."""
    mirrors = {name: f"https://mirror.example.com/{name}" for name in ("kubernetes", "cni", "crictl")}
    urls = addresses(**mirrors)
    machine = _machine(tmp_path, urls=urls)
    script = _setup(values={"downloads": {name: mirror + end for name, mirror in mirrors.items()}})
    assert machine.run(script).returncode == 0
    assert {url.removesuffix(".sha256") for url in _asked(machine)} == set(urls)
    assert "github.com" not in script
    assert "dl.k8s.io" not in script


def test_bug_379_the_folder_of_cni_belongs_to_root(tmp_path: Path) -> None:
    machine = _machine(tmp_path)
    assert machine.run(_setup()).returncode == 0
    assert machine.called("chown") == ["chown -R root:root /opt/cni"]


@pytest.mark.parametrize("minor", MINORS)
def test_bugs_378_and_615_crictl_is_of_the_kubelets_minor(minor: int) -> None:
    script = _setup(f"1.{minor}.7")
    assert f'"$crictl/v1.{minor}.0/$archive"' in script
    assert f"archive=crictl-v1.{minor}.0-linux-$arch.tar.gz" in script


def test_versions_of_values_are_installed() -> None:
    script = _setup(values={"versions": {"cni": "v1.10.0", "crictl": "v1.35.2"}})
    assert '"$cni/v1.10.0/$archive"' in script
    assert "archive=cni-plugins-linux-$arch-v1.10.0.tgz" in script
    assert "archive=crictl-v1.35.2-linux-$arch.tar.gz" in script
