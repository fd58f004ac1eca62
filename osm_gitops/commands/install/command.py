"""Print the manifests that a cluster needs for runs.

Prints CRDs, accounts with only the rights that runs need, the account of booting machines, policies
of the API server, and CronJobs; with --kkp, accounts and CronJobs for a KKP seed. If a source is
given, reads its MachineDeployments for the Secrets that they name. Changes nothing. --part prints a
part. To remove an installation, leave out crds: deleting CRDs deletes all profiles and
configurations. The rights of some commands are printed only by name: init, uninstall, and switch and
profiles for kkp.

Examples:
  osm-gitops install --image registry.example.com/osm-gitops:1 > install.yaml
  osm-gitops install --from cluster --image osm-gitops:1 -cluster-dns=10.96.0.10 > install.yaml
  osm-gitops install --side worker --from cluster --worker-context workers > worker.yaml
  osm-gitops install --image osm-gitops:1 --repo https://git.example.com/nodes.git
  osm-gitops install --part admission --writer group:deployers
  osm-gitops install --kkp --image osm-gitops:1 --repo https://git.example.com/nodes.git
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_settings
from osm_gitops.cli.run_options import ask_for
from osm_gitops.commands.install.install_plan import (
    DEFAULT_AUTHOR,
    DEFAULT_HOME,
    DEFAULT_SCHEDULE,
    INSTALLED,
    WRITER,
    ConfigRepo,
    InstallPlan,
    Jobs,
    Part,
)
from osm_gitops.errors import Code, InputError, Problem, input_error, some

if TYPE_CHECKING:
    from osm_gitops.config.spec import ClusterSpec
    from osm_gitops.model.desired import Side
    from osm_gitops.model.objects import Json

_NAMED = 5
_USER_CLUSTER_PREFIX = "cluster-"
"""Of the namespaces that KKP makes on a seed."""
_RUNS = "The runs"
_GIT = "Runs from a config repo, into git"


class SideChoice(Enum):
    """The cluster to print manifests for."""

    MANAGEMENT = "management"
    WORKER = "worker"
    BOTH = "both"


SideOption = Annotated[
    SideChoice | None, option("--side", "With two clusters: print the manifests for this one.", show_default=False)
]
Parts = Annotated[list[Part] | None, option("--part", "Print only this part. May be repeated.", show_default=False)]
OnSeed = Annotated[
    bool, option("--kkp", "Print accounts and runs for a KKP seed, which work in its user clusters from there.")
]
Home = Annotated[str, option("--home-namespace", "Namespace of accounts and runs.", metavar="NAME")]
Writers = Annotated[
    list[str] | None,
    option(
        "--writer", "User or group that may also change OSCs, such as Flux. May be repeated.", metavar="USER|group:NAME"
    ),
]
Secrets = Annotated[
    list[str] | None,
    option(
        "--secret",
        "Secret that runs may read besides those that settings and MachineDeployments name. May be repeated.",
        metavar="NAMESPACE/NAME",
    ),
]
Image = Annotated[str, option("--image", "Image of osm-gitops.", metavar="IMAGE", panel=_RUNS)]
PullSecrets = Annotated[
    list[str] | None,
    option("--image-pull-secret", "Secret to pull the image with. May be repeated.", metavar="NAME", panel=_RUNS),
]
Schedule = Annotated[
    str,
    option(
        "--schedule",
        "When runs start. If they are more than --interval apart, raise that setting.",
        metavar="CRON",
        panel=_RUNS,
    ),
]
WatchRuns = Annotated[
    bool,
    option(
        "--watch",
        "Deployments that run within seconds of a change, instead of CronJobs, and the rights to watch.",
        panel=_RUNS,
    ),
]
Shards = Annotated[
    int,
    option(
        "--shards",
        "Number of pods that share the clusters of each run.",
        metavar="N",
        min=1,
        max=1000,
        panel=_GIT,
    ),
]
EnvironmentSecrets = Annotated[
    list[str] | None,
    option(
        "--env-secret",
        "Secret whose keys become environment variables of the runs, such as cloud credentials. May be repeated.",
        metavar="NAME",
        panel=_RUNS,
    ),
]
WorkerKubeconfigSecret = Annotated[
    str,
    option(
        "--worker-kubeconfig-secret",
        "Secret with the kubeconfig of a separate worker cluster under the key kubeconfig.",
        metavar="NAME",
        panel=_RUNS,
    ),
]
Repo = Annotated[
    str, option("--repo", "Config repo for the runs. Without it, runs apply to the cluster.", metavar="URL", panel=_GIT)
]
Ref = Annotated[str, option("--ref", "Branch of the config repo.", metavar="BRANCH", panel=_GIT)]
GitTokenSecret = Annotated[
    str, option("--git-token-secret", "Secret with a token for HTTPS under the key token.", metavar="NAME", panel=_GIT)
]
ForgeTokenSecret = Annotated[
    str,
    option(
        "--forge-token-secret",
        "Secret with a token for the forge's API under the key token, for pull requests.",
        metavar="NAME",
        panel=_GIT,
    ),
]
NotifyUrlSecret = Annotated[
    str,
    option(
        "--notify-url-secret",
        "Secret with the address of a webhook for changes and new errors under the key url.",
        metavar="NAME",
        panel=_RUNS,
    ),
]
GitSshSecret = Annotated[
    str,
    option(
        "--git-ssh-secret",
        "Secret with the keys identity and known_hosts for SSH, as Flux uses it.",
        metavar="NAME",
        panel=_GIT,
    ),
]
AgeKeySecret = Annotated[
    str,
    option("--age-key-secret", "Secret with the private age key under the key age.agekey.", metavar="NAME", panel=_GIT),
]
CommitAs = Annotated[str, option("--commit-as", "Author of the commits.", metavar="'NAME <MAIL>'", panel=_GIT)]


@with_settings
def install(
    request: Request,
    side: SideOption = None,
    on_seed: OnSeed = False,
    part: Parts = None,
    home: Home = DEFAULT_HOME,
    writer: Writers = None,
    secret: Secrets = None,
    image: Image = "",
    pull_secret: PullSecrets = None,
    schedule: Schedule = DEFAULT_SCHEDULE,
    watch: WatchRuns = False,
    shards: Shards = 1,
    environment_secret: EnvironmentSecrets = None,
    worker_kubeconfig_secret: WorkerKubeconfigSecret = "",
    repo: Repo = "",
    ref: Ref = "",
    git_token_secret: GitTokenSecret = "",
    git_ssh_secret: GitSshSecret = "",
    forge_token_secret: ForgeTokenSecret = "",
    notify_url_secret: NotifyUrlSecret = "",
    age_key_secret: AgeKeySecret = "",
    commit_as: CommitAs = f"{DEFAULT_AUTHOR[0]} <{DEFAULT_AUTHOR[1]}>",
) -> int:
    from osm_gitops.commands.install.manifests import manifests  # noqa: PLC0415 - imports kube
    from osm_gitops.git.address import parse_address  # noqa: PLC0415 - slow
    from osm_gitops.model.desired import Side  # noqa: PLC0415 - slow

    parts = frozenset(part or INSTALLED)
    if repo:
        parse_address(repo)  # refuses passwords
    if watch and schedule != DEFAULT_SCHEDULE:
        what = "runs that watch have no schedule"
        raise input_error(Code.OPTIONS_CONFLICT, what, where="--schedule", fix="Leave it out, or leave out --watch")
    if forge_token_secret and not repo:
        what = "pull requests are for runs that commit to a config repo"
        raise input_error(Code.OPTIONS_CONFLICT, what, where="--forge-token-secret", fix="Name it with --repo")
    config_repo = ConfigRepo(
        url=repo,
        ref=ref,
        token_secret=git_token_secret,
        forge_secret=forge_token_secret,
        ssh_secret=git_ssh_secret,
        age_secret=age_key_secret,
        author=_author(commit_as),
    )
    runs = Jobs(
        image=image,
        schedule=schedule,
        pull_secrets=tuple(pull_secret or ()),
        environment_secrets=tuple(environment_secret or ()),
        notify_secret=notify_url_secret,
        worker_kubeconfig_secret=worker_kubeconfig_secret,
        watch=watch,
        shards=shards,
    )
    if shards > 1 and not repo:
        what = "only the clusters of a fleet can be shared, and these runs work on one cluster"
        fix = "Name the config repo of the fleet with --repo"
        raise input_error(Code.OPTIONS_CONFLICT, what, where=f"--shards {shards}", fix=fix)
    if shards > 1 and watch:
        what = "a process that watches works on all clusters of its fleet file"
        raise input_error(Code.OPTIONS_CONFLICT, what, where=f"--shards {shards}", fix="Leave out --watch or --shards")
    plan = InstallPlan(
        home=home,
        split=bool(worker_kubeconfig_secret) or side is not None,
        more=tuple(map(_secret, secret or ())),
        writers=tuple(writer or ()),
        repo=config_repo if repo else None,
        into_git=bool(repo),
        on_seed=on_seed,
        jobs=runs,
    )
    if on_seed:
        _refuse_on_seed(request, plan, side, part)
        if request.fleet is not None:
            runs = replace(runs, arguments=(f"--fleet={request.fleet.as_posix()}",))
        plan = replace(plan, into_git=_writes_git(request), jobs=runs)
        _print(manifests(plan, Side.MANAGEMENT, parts))
        return 0
    for each in (Part.SWITCH, Part.PROFILES):
        if each in parts:
            what = "it is for a KKP seed"
            raise input_error(Code.OPTIONS_CONFLICT, what, where=f"--part {each.value}", fix="Add --kkp")
    plan, spec = _for_request(plan, request, parts)
    sides = _sides(plan, side)
    _check_runs(plan, sides, parts)
    if Part.ADMISSION in parts and Side.MANAGEMENT in sides and not plan.writers:
        plan = replace(plan, writers=_other_writers(plan, spec))
    bodies = [body for each in sides for body in _missing(spec, each, manifests(plan, each, parts))]
    _print(bodies)
    return 0


def _print(bodies: Sequence[dict[str, Json]]) -> None:
    from osm_gitops.yaml.emit import dump  # noqa: PLC0415 - slow

    console.out("".join(f"---\n{dump(body)}" for body in bodies))


def _refuse_on_seed(request: Request, plan: InstallPlan, side: SideChoice | None, parts: Sequence[Part] | None) -> None:
    """Raise InputError for options that a KKP seed does not need, and without those that its runs need."""
    from osm_gitops.commands.install.manifests import ON_SEED  # noqa: PLC0415 - imports kube
    from osm_gitops.sources.manifests import KKP_NAMESPACE  # noqa: PLC0415 - slow

    jobs = plan.jobs or Jobs(image="")
    needless = {
        "--side": side,
        "--worker-kubeconfig-secret": jobs.worker_kubeconfig_secret,
        "--writer": plan.writers,
        "--secret": plan.more,
        "--from": request.source,
        **{f"--part {each.value}": each not in ON_SEED for each in parts or ()},
    }
    problems = [
        Problem(
            Code.OPTIONS_CONFLICT,
            "it has no meaning for a KKP seed",
            where=option,
            fix="Leave it out, or leave out --kkp",
        )
        for option, value in needless.items()
        if value
    ]
    if request.fleet is not None and request.fleet.is_absolute():
        what, fix = "runs find it only by a path in the config repo", "Run install there, with a relative path"
        problems.append(Problem(Code.INVALID_OPTION, what, where=f"--fleet {request.fleet}", fix=fix))
    if plan.home == KKP_NAMESPACE or plan.home.startswith(_USER_CLUSTER_PREFIX):
        what = "whoever may read Secrets or start pods in this namespace would be admin of all user clusters"
        fix = "Choose a namespace of its own"
        problems.append(Problem(Code.INVALID_OPTION, what, where=f"--home-namespace {plan.home}", fix=fix))
    if Part.JOBS in (parts or INSTALLED):
        leave = "Name one, or leave out the runs with --part"
        if not jobs.image:
            problems.append(Problem(Code.MISSING_ARGUMENT, "the runs need an image", where="--image", fix=leave))
        if plan.repo is None:
            what = "the runs need a config repo, whose fleet file selects the user clusters"
            problems.append(Problem(Code.MISSING_ARGUMENT, what, where="--repo", fix=leave))
    if problems:
        raise InputError(problems)


def _writes_git(request: Request) -> bool:
    """Whether the runs commit the desired state of user clusters, as the fleet file says, if there is one."""
    from osm_gitops.cli.clusters import fleet_of, names_clusters  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import TargetSpec  # noqa: PLC0415 - slow

    if not names_clusters(request):
        console.say("There is no fleet file here: the runs are those for to: cluster")
        return False
    fleet = fleet_of(request)
    if not fleet.kkp:
        what = "the fleet file has no entry kkp"
        raise input_error(Code.NO_SOURCE, what, where="--kkp", fix="osm-gitops init --from kkp writes one")
    others = [spec.name for spec in fleet.clusters]
    if others or len({entry.seed for entry in fleet.kkp}) > 1:
        named = f" ({some(others, _NAMED)})" if others else ""
        console.say(
            f"The runs work on all clusters of the fleet file, also on those elsewhere{named}, which pods of this seed "
            "may not reach. Give each seed a fleet file of its own, and name it with --fleet"
        )
    specs = [spec for entry in fleet.kkp for spec in (entry.template, *entry.overrides.values())]
    return any(isinstance(spec.target, TargetSpec) for spec in specs)


def _other_writers(plan: InstallPlan, spec: ClusterSpec | None) -> tuple[str, ...]:
    """Ask on a terminal which other users may change configurations; without a terminal, say how to name them."""
    from osm_gitops.commands.install.manifests import APPLIERS, user_name  # noqa: PLC0415 - imports kube
    from osm_gitops.config.spec import TargetSpec  # noqa: PLC0415 - slow
    from osm_gitops.kube.answers import CONFIGURATION_POLICY  # noqa: PLC0415 - slow

    from_git = plan.into_git or (spec is not None and isinstance(spec.target, TargetSpec))
    console.say(
        f"Policy {CONFIGURATION_POLICY} allows only {user_name(plan, WRITER)} to change OperatingSystemConfigs. "
        "Allow others with --writer USER|group:NAME, such as yourself (kubectl auth whoami)"
        + "".join(f", or {name} ({user})" for name, user in APPLIERS.items() if from_git)
        + (". Otherwise what is applied from git is refused." if from_git else ".")
    )
    if not sys.stdin.isatty():
        return ()
    named = ask_for("Other users, separated by commas, or nothing").split(",")
    return tuple(name.strip() for name in named if name.strip())


def _missing(spec: ClusterSpec | None, side: Side, bodies: Sequence[dict[str, Json]]) -> Sequence[dict[str, Json]]:
    """The manifests without those that the cluster has from another installation; all if no cluster is read."""
    from osm_gitops.commands.install.manifests import without_present  # noqa: PLC0415 - imports kube
    from osm_gitops.config.spec import LiveRef  # noqa: PLC0415 - slow
    from osm_gitops.kube.api import connect  # noqa: PLC0415 - slow
    from osm_gitops.model.desired import Side  # noqa: PLC0415 - slow

    if spec is None or not isinstance(spec.source.machines, LiveRef):
        return bodies
    missing = without_present(connect(spec.management if side is Side.MANAGEMENT else spec.worker, os.environ), bodies)
    if missing.present:
        console.say(
            f"Not printed, because the {side.value} cluster has them from another installation: "
            f"{', '.join(map(str, missing.present))}. To replace them, print them without --from and apply them with "
            "kubectl apply --server-side --force-conflicts"
        )
    if missing.unknown:
        console.say(
            f"Printed, although they may exist: {', '.join(map(str, missing.unknown))}. This user may not read them"
        )
    return missing.bodies


def _for_request(plan: InstallPlan, request: Request, parts: frozenset[Part]) -> tuple[InstallPlan, ClusterSpec | None]:
    from osm_gitops.cli.clusters import one_cluster  # noqa: PLC0415 - slow
    from osm_gitops.commands.install.install_plan import for_cluster, machines_of  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import DEFAULT_CLUSTER, ClusterSpec, LiveRef, SourceSpec  # noqa: PLC0415 - slow

    spec = one_cluster(request)
    if spec is None:
        live, settings = LiveRef(), tuple(request.settings.values())
        whole = SourceSpec(live, live, live)
        spec = ClusterSpec(DEFAULT_CLUSTER, whole, settings, None, request.management, request.worker)
        return for_cluster(plan, spec, ()), None
    if request.source is None and plan.repo is None and Part.JOBS in parts:
        _refuse_folders(spec)
    return for_cluster(plan, spec, machines_of(spec, dict(os.environ))), spec


def _refuse_folders(spec: ClusterSpec) -> None:
    from osm_gitops.config.spec import TreeRef  # noqa: PLC0415 - slow

    trees = {part.display for part in spec.source.parts if isinstance(part, TreeRef)}
    folders = sorted(trees | {overlay.display for overlay in spec.overlays if not overlay.built_in})
    if folders:
        raise input_error(
            Code.FOLDER_NOT_IN_CLUSTER,
            f"runs in a cluster cannot read the folder {', '.join(folders)}",
            about=f"cluster {spec.name}",
            fix="Name its config repo with --repo, or leave out the runs with --part",
        )


def _sides(plan: InstallPlan, side: SideChoice | None) -> tuple[Side, ...]:
    from osm_gitops.model.desired import Side  # noqa: PLC0415 - slow

    if side is SideChoice.BOTH:
        return (Side.MANAGEMENT, Side.WORKER)
    if side is not None:
        return (Side.WORKER if side is SideChoice.WORKER else Side.MANAGEMENT,)
    if plan.split:
        raise input_error(
            Code.SIDE_NOT_CHOSEN,
            "the worker cluster is separate, and each cluster gets its own manifests",
            fix="Choose one with --side management or --side worker, or print both with --side both",
        )
    return (Side.MANAGEMENT,)


def _check_runs(plan: InstallPlan, sides: tuple[Side, ...], parts: frozenset[Part]) -> None:
    from osm_gitops.model.desired import Side  # noqa: PLC0415 - slow

    jobs = plan.jobs
    if jobs is None or Part.JOBS not in parts or Side.MANAGEMENT not in sides:
        return
    if not jobs.image:
        raise input_error(
            Code.MISSING_ARGUMENT,
            "the runs need an image",
            where="--image",
            fix="Name one, or leave out the runs with --part",
        )
    if plan.split and not jobs.worker_kubeconfig_secret:
        raise input_error(
            Code.MISSING_ARGUMENT,
            "the runs need the kubeconfig of the worker cluster",
            where="--worker-kubeconfig-secret",
            fix=f"Name a Secret in namespace {plan.home} that has it under the key kubeconfig",
        )


def _secret(text: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    if not (slash and namespace and name) or "/" in name:
        raise input_error(
            Code.INVALID_OPTION, f'"{text}" does not name a Secret', where="--secret", fix="Write it as namespace/name"
        )
    return namespace, name


def _author(text: str) -> tuple[str, str]:
    from email.utils import parseaddr  # noqa: PLC0415 - slow

    name, mail = parseaddr(text)
    if not (name and mail):
        raise input_error(
            Code.INVALID_OPTION, f'"{text}" is not an author', where="--commit-as", fix="Write Name <mail@example.com>"
        )
    return name, mail
