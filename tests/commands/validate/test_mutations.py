"""Forty deliberate mistakes in the default profiles and in overlays, each caught at its line.

Mistakes in different files of one profile do not hide each other, so that many share a copy: one run judges all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from osm_gitops.commands.validate.results import Scope
from osm_gitops.commands.validate.run import validate
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.sources.builtin import FOLDER, names, newest, read_builtin
from osm_gitops.sources.composing import compose, shown
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_tree


@dataclass(frozen=True)
class Mistake:
    """``right`` in a file of the set of profiles becomes ``wrong``; ``rule`` tells, at the line of ``line`` (else the
    line that changed). One that keeps others from being seen stands ``alone``."""

    profile: str
    file: str
    right: str
    wrong: str
    rule: str
    line: str = ""
    alone: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.wrong.strip()}"


def _ubuntu(file: str, right: str, wrong: str, rule: str, line: str = "", *, alone: bool = False) -> Mistake:
    return Mistake("osp-ubuntu", file, right, wrong, rule, line, alone)


def _flatcar(file: str, right: str, wrong: str, rule: str, line: str = "") -> Mistake:
    return Mistake("osp-flatcar", file, right, wrong, rule, line)


_KUBELET = "parts/kubelet.conf"
_UNIT = "parts/kubelet.service"
_SOURCE = "osp-ubuntu.yaml"
_TOML = "parts/containerd.toml"
_CONFIG = "ContainerRuntimeConfig"
_REPLACED = 'ContainerRuntimeConfig | replace("{}", "{}")'
_SETUP = "- name: setup.service\n      enable: true"
_SSH = "/etc/ssh/sshd_config.d/10-kubernetes.conf"

MISTAKES: Sequence[Mistake] = (
    _ubuntu(_KUBELET, "cgroupDriver:", "cgroupdriver:", "kubelet-unknown-field"),
    _ubuntu(_KUBELET, "maxParallelImagePulls: 10", "maxParallelImagePulls: ten", "kubelet-type"),
    _ubuntu(_KUBELET, "cacheTTL: 2m0s", "cacheTTL: 2minutes", "kubelet-type"),
    _ubuntu(_KUBELET, "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA255", "kubelet-value"),
    _ubuntu(_KUBELET, "readOnlyPort: 0", "readOnlyPort: 0\nreadOnlyPort: 1", "kubelet-syntax", "readOnlyPort: 1"),
    _ubuntu(_KUBELET, '"memory": "200Mi"', '"memory": "200Mx"', "kubelet-value", "toJson(trim(found[name]))"),
    _ubuntu(_KUBELET, '- "{{ ip }}"', '- "{{ ip }}x"', "kubelet-value"),
    _ubuntu(_KUBELET, '"imagefs.available"', '"imagefs.avail"', "kubelet-value", "toJson(trim(found[name]))"),
    _ubuntu(_KUBELET, "in KubeletFeatureGates", "in KubeletFeatureGats", "undefined-name", alone=True),
    _ubuntu(_KUBELET, "MinimumGCAge.Duration }}", "MinimumGCAge.Durations }}", "unknown-field", alone=True),
    _ubuntu(_UNIT, "Restart=always", "Restart=allways", "systemd-value"),
    _ubuntu(_UNIT, "RestartSec=10", "RestartSecs=10", "systemd-unknown-key"),
    _ubuntu(_UNIT, "[Service]", "[Servce]", "systemd-unknown-section"),
    _ubuntu(_UNIT, "ExecStart=/opt/bin/kubelet", "ExecStart=opt/bin/kubelet", "systemd-value"),
    _ubuntu(_UNIT, "--cert-dir=/etc", "--cert-dirs=/etc", "kubelet-flag"),
    _ubuntu(_UNIT, "--kubeconfig=/var/lib", "--network-plugin=cni --kubeconfig=/var/lib", "kubelet-flag"),
    _ubuntu(_UNIT, "--config=/etc/kubernetes/kubelet.conf", "--config=/etc/kubernetes/kubelet.yaml", "kubelet-file"),
    _ubuntu(_KUBELET, "cgroupDriver: systemd", "cgroupDriver: cgroupfs", "kubelet-cgroup-driver"),
    _ubuntu("parts/setup.service", "RemainAfterExit=yes", "RemainAfterExit=maybe", "systemd-value"),
    _ubuntu("parts/bootstrap.service", "Type=simple", "Type=simpel", "systemd-value"),
    _ubuntu("parts/health-monitor.service", "RestartSec=10", "RestartSec=ten", "systemd-value"),
    _ubuntu("parts/health-monitor.service", "[Install]", "nonsense\n[Install]", "systemd-syntax"),
    _ubuntu("parts/fetch-secret.sh", "if [ ! -s", "if [! -s", "shellcheck-SC1035"),
    _ubuntu("parts/health-monitor.sh", "failures=$((failures + 1))", "failuers=$((failures + 1))", "shellcheck-SC2034"),
    _ubuntu("parts/prepare-kubelet.sh", "swapoff -a\n", "swapoff -a\nif true; then\n", "shellcheck-SC1046", "if true;"),
    _ubuntu("parts/retry.sh", 'until "$@"; do', 'until "$@"; od', "shellcheck-SC1057", alone=True),
    _ubuntu("parts/health-monitor.sh", "#!/bin/bash", "#!bash", "shebang"),
    _ubuntu(_SOURCE, "path: /etc/crictl.yaml", "path: /etc/containerd/config.toml", "duplicate-path", alone=True),
    _ubuntu(_SOURCE, "/etc/profile.d/opt-bin.sh", "etc/profile.d/opt-bin.sh", "unclean-path"),
    _ubuntu(_SOURCE, "/etc/systemd/journald.conf.d/", "/opt/bin/setup/", "file-below-file", alone=True),
    _ubuntu(_SOURCE, "- systemctl daemon-reload", '- "echo a: b"', "user-data", alone=True),
    _ubuntu(_SOURCE, "UbuntuConfig.DistUpgradeOnBoot", "UbuntuConfig.DistUpgradeOnBot", "unknown-field", alone=True),
    _ubuntu(_SOURCE, 'value("packages.extra", [])', 'value("packages.extra")', "rendering", alone=True),
    _ubuntu(_SOURCE, "{{ quoted(package) }}", "{{ quotd(package) }}", "undefined-name"),
    _ubuntu(_SOURCE, "{{ CloudConfig }}", "{{ CloudConfig | nope }}", "template-syntax", alone=True),
    _ubuntu(_TOML, _CONFIG, _REPLACED.format("SystemdCgroup", "SystemdCgroups"), "containerd-runc-option"),
    _ubuntu(_TOML, _CONFIG, _REPLACED.format("version = 3", "version = 5"), "containerd-version"),
    _ubuntu(_TOML, _CONFIG, _REPLACED.format("[metrics]", "[metric]"), "containerd-unknown-key"),
    _ubuntu(_TOML, "Config }}\n", "Config }}\nnonsense\n", "toml-syntax", "nonsense"),
    _ubuntu("parts/setup.service", "/opt/bin/setup", "/opt/bin/set-up", "missing-program"),
    _ubuntu("parts/setup.service", "Start=/opt/bin/setup", "Start=/opt/bin/setup | tee /run/a", "systemd-shell-syntax"),
    _ubuntu("parts/bootstrap.service", "After=network", "Before=basic.target\nAfter=network", "unit-cycle"),
    _ubuntu("parts/start-node.sh", "restart kubelet.service", "restart kublet.service", "unit-not-found"),
    _ubuntu("parts/apt.sh", "apt-get --yes", "apt-get", "package-manager-asks"),
    _ubuntu("parts/retry.sh", "curl --fail", "curl", "curl-without-fail"),
    _ubuntu("parts/fetch-secret.sh", '"$answer.value" "$file"', '"$answer.value" $file', "shellcheck-SC2086"),
    _ubuntu("parts/containerd-apt.sh", "[arch=$(dpkg --print-architecture) ", "[arch=amd64 ", "one-architecture"),
    _ubuntu(_SOURCE, "nfs-common", "nfs-utils", "package-name", "apt_anew install --no-install-recommends \\"),
    _ubuntu(_SOURCE, "/etc/sysctl.d/99-kubernetes.conf", "/etc/sysctl.d/99-kubernetes", "ignored-file-name"),
    _ubuntu(_SOURCE, "- systemctl daemon-reload", "- yum install -y curl", "command-not-there"),
    _flatcar("osp-flatcar.yaml", "/opt/bin/health-monitor", "/usr/local/bin/health-monitor", "read-only-path"),
    _flatcar("osp-flatcar.yaml", _SETUP, _SETUP.replace("true", "false"), "kubelet-never-started"),
    _flatcar("parts/prepare-kubelet.sh", "#!/bin/bash", "#!/usr/bin/env python3", "missing-interpreter"),
    _flatcar("osp-flatcar.yaml", "[Install]", "[Instal]", "rendering", "- name: bootstrap.service"),
    _flatcar("osp-flatcar.yaml", _SSH, "/etc/systemd/system/setup.service", "file-and-unit", "- name: setup.service"),
)  # fmt: skip


def _copies() -> list[list[Mistake]]:
    """The mistakes, as many in a copy as do not meet in one file."""
    copies: list[list[Mistake]] = []
    for mistake in MISTAKES:
        fitting = (
            copy
            for copy in copies
            if copy[0].profile == mistake.profile
            and not (copy[0].alone or mistake.alone)
            and mistake.file not in {each.file for each in copy}
        )
        copy = next(fitting, None)
        if copy is None:
            copies.append([mistake])
        else:
            copy.append(mistake)
    return copies


def _mistaken(copy: Sequence[Mistake], name: str, folder: Path) -> OperatingSystemProfile:
    """A default profile with mistakes, for one provider."""
    shutil.copytree(FOLDER / newest(), folder / newest())
    for mistake in copy:
        path = folder / newest() / mistake.file
        text = path.read_text("utf-8")
        assert mistake.right in text, mistake
        path.write_text(text.replace(mistake.right, mistake.wrong, 1), "utf-8")
    made = compose(folder, copy[0].profile, newest())
    ref = replace(made.manifest.ref, namespace="kube-system", name=name)
    provider = "aws" if made.os_name == "flatcar" else "hetzner"
    manifest = replace(made.manifest, ref=ref)
    return replace(made, name=name, namespace="kube-system", providers=(provider,), manifest=manifest)


def _line(mistake: Mistake) -> str:
    """Where the mistake stands."""
    text = (FOLDER / newest() / mistake.file).read_text("utf-8")
    before = text[: text.index(mistake.right)].count("\n")
    if mistake.line:
        lines = text.replace(mistake.right, mistake.wrong, 1).splitlines()
        before = next(number for number, line in enumerate(lines) if mistake.line in line)
    return f"{shown(mistake.file.removesuffix('.yaml'), newest())}:{before + 1}"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Mistake, list[Finding]]:
    """What is found of the copy that each mistake is in."""
    copies = {f"copy-{number}": copy for number, copy in enumerate(_copies())}
    profiles = {
        ("kube-system", name): _mistaken(copy, name, tmp_path_factory.mktemp(name)) for name, copy in copies.items()
    }
    verdict = validate([Scope("all", Inputs(profiles=profiles), Settings())], dict(os.environ))
    return {
        mistake: [each for each in verdict.findings if f"/{name}" in each.about.split(",")[0]]
        for name, copy in copies.items()
        for mistake in copy
    }


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_in_a_default_profile_is_caught_at_its_line(
    mistake: Mistake, found: Mapping[Mistake, list[Finding]]
) -> None:
    told = [(each.id, each.where) for each in found[mistake]]
    assert (mistake.rule, _line(mistake)) in told


_OVERLAY = """\
apiVersion: osm-gitops.io/v1alpha1
kind: Overlay
settings:
  nodeHTTPProxy: http://proxy.example.com:3128
values:
  site: {name: north}
profiles: [osp-a]
patches:
- target: {name: osp-a}
  merge:
    spec:
      provisioningConfig:
        files:
        - path: /opt/bin/setup
          permissions: 700
          content:
            inline:
              encoding: b64
              data: |
                #!/bin/sh
                echo {{ .Values.site.name }}
        - path: /opt/bin/more
          permissions: 755
          content:
            inline:
              encoding: b64
              data: |
                #!/bin/sh
                if [ -e /etc/more ]; then
                  echo more
                fi
"""

OVERLAY_MISTAKES = (
    # what is right, what is wrong, the rule, and the line where it is told if that is not the changed one
    ("nodeHTTPProxy", "nodeHttpProxi", "overlay", ""),
    ("nodeHTTPProxy: http://proxy.example.com:3128", "clusterDNS: nowhere", "setting", ""),
    ("http://proxy.example.com:3128", "http://fd00::1:3128", "proxy-url", ""),
    ("nodeHTTPProxy: http://proxy.example.com:3128", "initialTaints: a=b", "taint", ""),
    ("{name: osp-a}", "{name: osp-b}", "overlay", "merge:"),
    ("merge:", "merged:", "overlay", ""),
    ("{name: north}", "{nam: north}", "overlay", ""),
    ("{{ .Values.site.name }}", "{{ .KubeVersoin }}", "overlay", "site: {name"),
    ("echo {{ .Values.site.name }}", "echo {{ nonsense .Values.site.name }}", "template-syntax", ""),
    ("echo more", "{{ if .ExternalCloudProvider }}{{ .HTTPProxi }}{{ end }}", "unknown-field", ""),
    ("if [ -e", "if [-e", "shellcheck-SC1035", ""),
    ("path: /opt/bin/more", "path: opt/bin/more", "unclean-path", ""),
    ("permissions: 755", "permissions: 855", "permissions", "path: /opt/bin/more"),
    ("permissions: 700", "permission: 700", "profile-schema", ""),
)  # fmt: skip


@pytest.mark.parametrize(
    ("right", "wrong", "rule", "line"), OVERLAY_MISTAKES, ids=[each[1] for each in OVERLAY_MISTAKES]
)
def test_a_mistake_in_an_overlay_is_caught_at_its_line(
    right: str, wrong: str, rule: str, line: str, tmp_path: Path
) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    folder = tmp_path / "north"
    folder.mkdir()
    text = _OVERLAY.replace(right, wrong, 1)
    assert text != _OVERLAY
    (folder / "overlay.yaml").write_text(text, "utf-8")
    ran = osm_gitops("validate", str(tmp_path / "tree"), "--overlay", str(folder), "-o", "json")
    told = [(each["id"], each.get("file"), each.get("line")) for each in json.loads(ran.out)["findings"]]
    before = _OVERLAY[: _OVERLAY.index(right)].count("\n")
    if line:
        before = next(number for number, each in enumerate(text.splitlines()) if line in each)
    assert (rule, str(folder / "overlay.yaml"), before + 1) in told, ran.err


def test_there_are_as_many_mistakes_as_were_promised() -> None:
    assert len(MISTAKES) + len(OVERLAY_MISTAKES) >= 40


@pytest.mark.oracle
def test_every_default_profile_passes_with_all_its_providers_versions_and_settings() -> None:
    profiles = {("kube-system", name): read_builtin(name, newest(), "kube-system").value for name in names(newest())}
    known = {key: each for key, each in profiles.items() if each is not None}
    assert len(known) == len(profiles) == 6
    verdict = validate([Scope("all", Inputs(profiles=known), Settings())], dict(os.environ))
    assert [each for each in verdict.findings if not each.id.endswith("-not-installed")] == []
    assert verdict.counts.combinations > 1500
