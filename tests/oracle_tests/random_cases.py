"""Random whole cases: profiles, MachineDeployments and flags as people combine them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, Final

from tests.conformance_data import load_case
from tests.oracle_tests.bodies import Bodies

_PREFIX: Final = "v1.kubelet-config.machine-controller.kubermatic.io/"
_KUBELET: Final[Mapping[str, tuple[str, ...]]] = {
    "MaxPods": ("110", "0", "+7", "abc"),
    "KubeReserved": ("cpu=200m,memory=1Gi", "", "x", "cpu=1,cpu=2"),
    "SystemReserved": ("cpu=1",),
    "EvictionHard": ("memory.available<100Mi,nodefs.available<5%", "a<=5"),
    "ContainerLogMaxSize": ("100Mi", ""),
    "ContainerLogMaxFiles": ("7",),
    "ImageGCHighThresholdPercent": ("85",),
    "ImageGCLowThresholdPercent": ("70",),
    "ImageMinimumGCAge": ("2m", "90m"),
    "ImageMaximumGCAge": ("1h30m", "0"),
}
_FLAGS: Final[Mapping[str, tuple[str | list[str], ...]]] = {
    "node-http-proxy": ("http://p:3128", "{{ .X }}", "http://u:p@p:1"),
    "node-no-proxy": ("", "a,b"),
    "pause-image": ("p:1",),
    "initial-taints": ("a=b:NoSchedule",),
    "node-insecure-registries": ("10.0.0.1:5000", "a, b,http://c", "docker.io"),
    "node-registry-mirrors": ("m.example.com", "quay.io=https://b/x?kubermatic=override_path%3Dtrue", "*=https://w"),
    "node-containerd-registry-mirrors": (["quay.io=https://q"], ["docker.io=", "_default=https://d"]),
    "external-cloud-provider": ("true", "false"),
    "cluster-dns": ("10.10.10.10", "fd00::a,10.0.0.1"),
    "node-kubelet-feature-gates": ("A=true", "RotateKubeletServerCertificate=false,B=1"),
    "device-ownership-from-security-context": ("true",),
    "override-bootstrap-kubelet-apiserver": ("https://x:1",),
    "kubernetes-ca-bundle": ("ca.pem",),
    "host-ca-bundle": ("ca.pem",),
}
_NETWORKS: Final[tuple[Any, ...]] = (
    None,
    None,
    {"ipFamily": "IPv4+IPv6"},
    {"ipFamily": "IPv6"},
    {"ipFamily": "bogus"},
    {"cidr": "10.0.0.2/24", "gateway": "10.0.0.1", "dns": {"servers": ["8.8.8.8"]}, "ipFamily": "IPv4"},
)
_OS_SPECS: Final[Mapping[str, tuple[Any, ...]]] = {
    "flatcar": ({}, {}, {"disableAutoUpdate": True}, {"disableUpdateEngine": True, "disableLocksmithD": True}),
    "rhel": (
        {},
        {"rhelSubscriptionManagerUser": "u", "rhelSubscriptionManagerPassword": "p w", "attachSubscription": True},
        {"rhelUseSatelliteServer": True, "rhelSatelliteServer": "s", "rhelOrganizationName": "o"},
    ),
}
_KUBELETS: Final = ("1.34.2", "v1.30.0", "1.28.1", "1.29.0-rc.1", "1.24", "1.31.4+k")


class Cases:
    """Makes cases of the form that the conformance data has, without what is expected of them."""

    def __init__(self, random: Random, names: Iterable[str], profiles: Sequence[Mapping[str, Any]]) -> None:
        """``names`` are recorded cases whose MachineDeployments and objects are taken."""
        self.random = random
        self.recorded = [case for name in names if "md" in (case := load_case(name))]
        self.profiles = profiles
        self.provider_specs: dict[str, list[Any]] = {}
        for case in self.recorded:
            value = case["md"]["spec"]["template"]["spec"]["providerSpec"]["value"]
            self.provider_specs.setdefault(value.get("cloudProvider"), []).append(value.get("cloudProviderSpec"))

    def case(self) -> dict[str, Any]:
        """One case; about every third has a profile of its own files."""
        profile = copy.deepcopy(dict(self.random.choice(self.profiles)))
        if self.random.random() < 0.35:
            self._rewrite(profile["spec"])
        flags = {name: self.random.choice(_FLAGS[name]) for name in self._sample(_FLAGS, 7)}
        return {
            "flags": {"namespace": "kube-system", **flags},
            "md": self._machine_deployment(profile),
            "osp": {"inline": profile},
            "objects": self.random.choice(self.recorded)["objects"],
        }

    def _sample(self, names: Mapping[str, Any], most: int) -> list[str]:
        return self.random.sample(list(names), self.random.randrange(most))

    def _rewrite(self, spec: dict[str, Any]) -> None:
        for half in ("bootstrapConfig", "provisioningConfig"):
            spec[half] = {
                "templates": {"x": Bodies(self.random, 0.0).template(), "y": "plain\n"},
                "files": [self._file(number) for number in range(self.random.randrange(3))],
                "supportedContainerRuntimes": [
                    {"name": "containerd", "files": [], "templates": {"y": "{{ .PauseImage }}"}}
                ],
            }
            if spec["osName"] == "flatcar":
                content = "[Unit]\nDescription={{ .Raw }} ${A} %i\n[Install]\nWantedBy=multi-user.target\n"
                spec[half]["units"] = [{"name": "a.service", "enable": True, "content": content}]
            else:
                spec[half]["modules"] = {"runcmd": ["echo a", "systemctl restart b"], "bootcmd": ["x"]}

    def _file(self, number: int) -> dict[str, Any]:
        called = self.random.choice(("", '{{ template "x" }}', '{{- template "y" . }}\n'))
        inline = {"data": "#!/bin/sh\n" + Bodies(self.random, 0.0).template() + called}
        if self.random.random() < 0.3:
            inline["encoding"] = "b64"
        return {"path": f"/opt/{number}", "permissions": self.random.choice((644, 755)), "content": {"inline": inline}}

    def _machine_deployment(self, profile: Mapping[str, Any]) -> dict[str, Any]:
        random = self.random
        system = profile["spec"]["osName"]
        provider = random.choice(profile["spec"]["supportedCloudProviders"])["name"]
        annotations = {_PREFIX + key: random.choice(_KUBELET[key]) for key in self._sample(_KUBELET, 5)}
        annotations["k8c.io/operating-system-profile"] = profile["metadata"]["name"]
        annotations["machinedeployment.clusters.k8s.io/revision"] = "1"
        value = {
            "cloudProvider": provider,
            "cloudProviderSpec": random.choice(self.provider_specs.get(provider) or [{}]),
            "operatingSystem": system,
            "operatingSystemSpec": random.choice(_OS_SPECS.get(system, ({}, {"distUpgradeOnBoot": True}, None))),
            "sshPublicKeys": random.choice(([], ["ssh-ed25519 A a@b", " ssh-ed25519 A a@b\n"], ["k k"])),
            "network": random.choice(_NETWORKS),
        }
        if random.random() < 0.1:
            value["overwriteCloudConfig"] = random.choice(("", "x\ny", "{{ .A }}"))
        body: dict[str, Any] = copy.deepcopy(random.choice(self.recorded)["md"])
        body["metadata"] = {
            "name": random.choice(("md", "a-b")),
            "namespace": "kube-system",
            "annotations": annotations,
        }
        versions = {"kubelet": random.choice(_KUBELETS)}
        body["spec"]["template"]["spec"] = {"providerSpec": {"value": value}, "versions": versions}
        return body
