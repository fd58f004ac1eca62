"""The options of ``install``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from osm_gitops.commands.install.install_plan import Part

_RUNS = "The runs"
_GIT = "Runs from a config repo, into git"


class Half(Enum):
    """Which of two clusters to print for."""

    MANAGEMENT = "management"
    WORKER = "worker"
    BOTH = "both"


HalfChoice = Annotated[
    Half | None,
    typer.Option(
        "--side",
        help="Where two clusters are worked on: the one to print for.",
        envvar="OSM_GITOPS_SIDE",
        show_default=False,
    ),
]
Parts = Annotated[
    list[Part] | None,
    typer.Option(
        "--part",
        help="Print this part only; may be given several times.",
        envvar="OSM_GITOPS_PART",
        show_default=False,
    ),
]
Home = Annotated[
    str,
    typer.Option(
        "--home-namespace",
        metavar="NAME",
        help="Namespace of accounts and runs.",
        envvar="OSM_GITOPS_HOME_NAMESPACE",
    ),
]
Writers = Annotated[
    list[str] | None,
    typer.Option(
        "--writer",
        metavar="USER|group:NAME",
        help="Who else may change OSCs, such as Flux or you by hand; may be given several times.",
        envvar="OSM_GITOPS_WRITER",
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAMESPACE/NAME",
        help="Secret that runs may read besides those named by settings and MachineDeployments; may be repeated.",
        envvar="OSM_GITOPS_SECRET",
    ),
]
Image = Annotated[
    str,
    typer.Option(
        "--image", metavar="IMAGE", help="Image of osm-gitops.", envvar="OSM_GITOPS_IMAGE", rich_help_panel=_RUNS
    ),
]
PullSecrets = Annotated[
    list[str] | None,
    typer.Option(
        "--image-pull-secret",
        metavar="NAME",
        help="Secret to pull the image with; may be given several times.",
        envvar="OSM_GITOPS_IMAGE_PULL_SECRET",
        rich_help_panel=_RUNS,
    ),
]
Schedule = Annotated[
    str,
    typer.Option(
        "--schedule",
        metavar="CRON",
        help="When runs start; a wide one needs --interval.",
        envvar="OSM_GITOPS_SCHEDULE",
        rich_help_panel=_RUNS,
    ),
]
EnvironmentSecrets = Annotated[
    list[str] | None,
    typer.Option(
        "--env-secret",
        metavar="NAME",
        help="Secret whose keys are variables of the runs, such as cloud credentials; may be given several times.",
        envvar="OSM_GITOPS_ENV_SECRET",
        rich_help_panel=_RUNS,
    ),
]
WorkerKubeconfigSecret = Annotated[
    str,
    typer.Option(
        "--worker-kubeconfig-secret",
        metavar="NAME",
        help="Secret with the kubeconfig of another worker cluster under kubeconfig.",
        envvar="OSM_GITOPS_WORKER_KUBECONFIG_SECRET",
        rich_help_panel=_RUNS,
    ),
]
Repo = Annotated[
    str,
    typer.Option(
        "--repo",
        metavar="URL",
        help="Config repo to run in; else runs apply to the cluster.",
        envvar="OSM_GITOPS_REPO",
        rich_help_panel=_GIT,
    ),
]
Ref = Annotated[
    str,
    typer.Option("--ref", metavar="BRANCH", help="Its branch.", envvar="OSM_GITOPS_REF", rich_help_panel=_GIT),
]
GitTokenSecret = Annotated[
    str,
    typer.Option(
        "--git-token-secret",
        metavar="NAME",
        help="Secret with a token for HTTPS under token.",
        envvar="OSM_GITOPS_GIT_TOKEN_SECRET",
        rich_help_panel=_GIT,
    ),
]
GitSshSecret = Annotated[
    str,
    typer.Option(
        "--git-ssh-secret",
        metavar="NAME",
        help="Secret with identity and known_hosts for SSH, as Flux has it.",
        envvar="OSM_GITOPS_GIT_SSH_SECRET",
        rich_help_panel=_GIT,
    ),
]
AgeKeySecret = Annotated[
    str,
    typer.Option(
        "--age-key-secret",
        metavar="NAME",
        help="Secret with the private age key under age.agekey.",
        envvar="OSM_GITOPS_AGE_KEY_SECRET",
        rich_help_panel=_GIT,
    ),
]
CommitAs = Annotated[
    str,
    typer.Option(
        "--commit-as",
        metavar="'NAME <MAIL>'",
        help="Author of the commits.",
        envvar="OSM_GITOPS_COMMIT_AS",
        rich_help_panel=_GIT,
    ),
]
