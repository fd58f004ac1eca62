"""Check profiles and pools, and what they render to.

Asks no cluster and needs no key. Renders every profile for all its providers, Kubernetes versions
and relevant settings, and every pool as it is. Checks scripts, units, cloud-config, Ignition, and
the configuration of containerd and the kubelet, also with external linters if they are
installed. Each finding has a rule, and its line in the source; docs/how-to/validate.md lists
all rules and how to suppress one. Exits with 1 if there is an error.

Examples:
  osm-gitops validate                                  # the sources of the fleet
  osm-gitops validate osps/osp-mine.yaml               # one profile
  osm-gitops validate osps pools --severity warning    # folders of manifests
  osm-gitops validate --against origin/main -o github  # in a pull request
  osm-gitops validate -o sarif > findings.sarif        # for code scanning
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osm_gitops import __version__
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_cached_pools
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.finding import Finding, Severity

if TYPE_CHECKING:
    from osm_gitops.commands.validate.results import Scope
    from osm_gitops.config.spec import ClusterSpec


class Form(Enum):
    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


@with_cached_pools
def validate(
    request: Request,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...", help="Files or folders of manifests. Without them, the sources of the fleet file."
        ),
    ] = None,
    output: Annotated[Form, option("--output,-o", "Format of the findings.")] = Form.TEXT,
    severity: Annotated[Severity, option("--severity", "Show findings of this severity and above.")] = Severity.NOTE,
    strict: Annotated[bool, option("--strict", "Treat warnings as errors.")] = False,
    against: Annotated[
        str,
        option(
            "--against",
            "Also report profiles whose spec changed since this git revision without a new version.",
            metavar="REV",
            show_default=False,
        ),
    ] = "",
) -> int:
    from osm_gitops.commands.validate import report  # noqa: PLC0415 - slow
    from osm_gitops.commands.validate.cache import Cache, open_cache  # noqa: PLC0415 - imports render
    from osm_gitops.commands.validate.run import validate as check  # noqa: PLC0415 - imports render
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    found: list[Finding] = []
    named, environment = _checked(paths or []), request.environment
    scopes = _scopes(request, named, found, environment)
    if against:
        found += _compared(request, named, scopes, environment, against)
    # An untrusted tree must not leave anything that a later run trusts.
    cache = Cache(None, environment) if request.no_cache or request.untrusted else open_cache(environment)
    verdict = check(scopes, environment, found, cache)
    findings = report.masked(verdict.findings, Masker(verdict.sensitive))
    shown = tuple(each for each in findings if each.severity.weight >= severity.weight)
    shown_report = report.ValidationReport(
        shown, asdict(verdict.counts), __version__, console.colours(), strict, _home(request, named)
    )
    writers = {
        Form.TEXT: report.findings_text,
        Form.JSON: report.findings_json,
        Form.SARIF: report.findings_sarif,
        Form.JUNIT: report.findings_junit,
        Form.GITHUB: report.findings_github,
    }
    console.out(writers[output](shown_report))
    return 1 if any(map(shown_report.fails, findings)) else 0


def _scopes(
    request: Request, paths: list[Path], found: list[Finding], environment: Mapping[str, str], revision: str = ""
) -> tuple[Scope, ...]:
    """What to check, as it is or at a revision."""
    from osm_gitops.commands.validate.scope import fleet_scopes, overlay_findings, path_scopes  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import TreeRef  # noqa: PLC0415 - slow

    if paths:
        trees = [TreeRef(path, str(path), revision) for path in paths]
        like = _like(request, paths)
        found += overlay_findings(trees, like.trust)
        return path_scopes(trees, like, environment, found)
    return tuple(fleet_scopes(_clusters(request, found, revision), environment, found))


def _like(request: Request, paths: list[Path]) -> ClusterSpec:
    """A cluster with the settings of the command line, for files without a cluster."""
    from osm_gitops.cli.clusters import overlays_of, trust_of  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import DEFAULT_CLUSTER, ClusterSpec, SourceSpec, TreeRef  # noqa: PLC0415 - slow

    nothing = TreeRef(Path(), "")
    source, settings = SourceSpec(nothing, nothing, nothing), tuple(request.settings.values())
    trust = trust_of(request, paths)
    return ClusterSpec(DEFAULT_CLUSTER, source, settings, None, overlays=overlays_of(request), trust=trust)


def _clusters(request: Request, found: list[Finding], revision: str) -> tuple[ClusterSpec, ...]:
    """The fleet's clusters; problems of the fleet file become findings."""
    from osm_gitops.cli.clusters import clusters_at, clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.lint.rules.problems import problem_finding  # noqa: PLC0415 - slow
    from osm_gitops.lint.rules.rules import FLEET_FILE  # noqa: PLC0415 - slow

    if revision:
        return clusters_at(request, revision)
    try:
        return clusters_of(request, needs_target=False)
    except InputError as failure:
        if request.source is not None or not any(problem.where for problem in failure.problems):
            raise
        found += (problem_finding(FLEET_FILE, problem) for problem in failure.problems)
        return ()


def _compared(
    request: Request, paths: list[Path], scopes: tuple[Scope, ...], environment: Mapping[str, str], revision: str
) -> Iterator[Finding]:
    """Findings on the change since a revision. What was invalid or missing there is skipped: a fix must pass."""
    from osm_gitops.cli.clusters import home_of, trust_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.validate.scope import Comparison  # noqa: PLC0415 - slow
    from osm_gitops.lint.rules.problems import problem_finding  # noqa: PLC0415 - slow
    from osm_gitops.lint.rules.rules import FLEET_FILE, PASSED_OVER  # noqa: PLC0415 - slow
    from osm_gitops.sources.revision import check_revision  # noqa: PLC0415 - imports git

    for path in paths or [home_of(request, revision)]:
        check_revision(path, revision, str(path), trust_of(request, paths))
    troubles: list[Finding] = []
    try:
        earlier = _scopes(request, paths, troubles, environment, revision)
    except InputError as failure:
        earlier = ()
        troubles += (problem_finding(FLEET_FILE, problem) for problem in failure.problems)
    for trouble in troubles:
        if trouble.rule is not PASSED_OVER:
            what = f"{trouble.where}: {trouble.message}" if trouble.where else trouble.message
            yield Finding(PASSED_OVER, f"not all is compared with {revision}: {what}", about=trouble.about)
    yield from Comparison(scopes, earlier, revision).findings()


def _checked(paths: list[Path]) -> list[Path]:
    missing = [
        Problem(Code.FILE_UNREADABLE, "no such file or folder", where=str(path)) for path in paths if not path.exists()
    ]
    if missing:
        raise InputError(missing)
    return paths


def _home(request: Request, paths: list[Path]) -> str:
    """The checked file or folder as shown in findings; the first one if there are several."""
    from osm_gitops.cli.clusters import home_of, shown_path  # noqa: PLC0415 - slow

    if not paths and request.source is not None:
        return request.source
    return shown_path(paths[0] if paths else home_of(request, ""), request)
