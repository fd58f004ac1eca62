"""The made-up pools take the branches of a profile, and are no more than make a difference."""

from __future__ import annotations

from pathlib import Path

from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.boot_documents import Renderers
from osm_gitops.pipeline.synthetic import MINORS, VARIANTS, Combination, made_up_pool, matrix
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from tests.cli.scenes import file, profile, write_tree

_BRANCHES = """\
{{ if .HTTPProxy }}
proxy
{{ if contains "@" .HTTPProxy }}
with a password
{{ end }}
{{ else }}
{{ if .HostCACert }}
CA without a proxy
{{ end }}
{{ end }}
{{ if and .ExternalCloudProvider .InitialTaints (eq .CloudProviderName "aws") }}
both, on one provider
{{ end }}
{{ if semverCompare ">=1.36" .KubeVersion }}
the newest
{{ else if semverCompare "<1.32" .KubeVersion }}
the oldest
{{ if .HTTPProxy }}
the oldest with a proxy
{{ end }}
{{ else if semverCompare "~1.33.0" .KubeVersion }}
one between
{{ end }}
{{ if .NetworkConfig.GetIPFamily.IsDualstack }}
two families
{{ else if .NetworkConfig.GetIPFamily.HasIPv6 }}
IPv6 alone
{{ end }}
{{ if .KubeletFeatureGates }}
gates
{{ else }}
no gates
{{ end }}
{{ if .MaxPods }}
annotations
{{ end }}
{{ if .UbuntuConfig.DistUpgradeOnBoot }}
upgrade
{{ end }}
{{ if gt (len .ClusterDNSIPs) 1 }}
more than one
{{ end }}
{{ if .InTreeCCMAvailable }}
in tree
{{ end }}
{{ if .PauseImage }}
pause
{{ else }}
{{ if .CloudConfig }}
cloud-config
{{ end }}
{{ end }}
"""


def _profile(folder: Path, text: str) -> OperatingSystemProfile:
    body = profile(
        supportedCloudProviders=[{"name": "hetzner"}, {"name": "aws"}],
        bootstrapConfig={"files": []},
        provisioningConfig={"files": [file("/t", text)]},
    )
    tree = Folder(write_tree(folder, body), "tree")
    return read_tree(tree, management_namespace="kube-system", environment={}).profiles["kube-system", "osp-a"]


def _matrix(found: OperatingSystemProfile, renderers: Renderers) -> list[Combination]:
    plain = renderers.renderer(renderers.made_up(Combination("", "")))
    every = matrix(found, plain.compiled(found).reads())
    return [*every.grid(), *every.variations(every.providers)]


def test_every_branch_is_taken(tmp_path: Path) -> None:
    found, renderers = _profile(tmp_path, _BRANCHES), Renderers(Settings())
    lines = set()
    for combination in _matrix(found, renderers):
        cluster = renderers.made_up(combination)
        pool = made_up_pool(combination, found, cluster)
        (made,) = renderers.renderer(cluster, traced=True).config(pool).provisioning.files[:1]
        lines |= set(renderers.tracer.read(made.content)[0].split("\n"))
    wanted = {line for line in _BRANCHES.splitlines() if not line.startswith("{{")}
    assert wanted - lines == set()


def test_what_no_template_reads_is_not_varied(tmp_path: Path) -> None:
    found, renderers = _profile(tmp_path, "plain text\n"), Renderers(Settings())
    combinations = _matrix(found, renderers)
    assert {each.kube_version for each in combinations} == {MINORS[-1]}
    # What shows in every user-data: mirrors, and upgrades on boot.
    assert {variant.name for each in combinations for variant in each.variants} == {
        *("registry mirrors", "distUpgradeOnBoot"),
    }


def test_no_two_variants_have_one_name() -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
