"""``--repo URL --ref REF``: run in a temporary clone of the config repo (design.md, "Sources and targets of a
command")."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from osm_gitops.cli.console import console
from osm_gitops.cli.options import WORK_PANEL, Request, option
from osm_gitops.errors import Code, input_error

_Repo = Annotated[
    str | None,
    option(
        "--repo", "Clone this config repo for the run. Relative paths start in it.", metavar="URL", panel=WORK_PANEL
    ),
]
_Ref = Annotated[
    str | None,
    option(
        "--ref",
        "Branch to clone, for plans also a tag or a commit. Without it, the default branch of the remote.",
        metavar="REF",
        panel=WORK_PANEL,
    ),
]
_Token = Annotated[
    Path | None,
    option(
        "--git-token-file",
        "File with a token for clones and pushes over HTTPS. Without it, git finds credentials itself.",
        metavar="FILE",
        panel=WORK_PANEL,
    ),
]


def with_config_repo(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of the config repo to ``command``; its first parameter, a Request, then has the clone."""

    @functools.wraps(command)
    def called(request: Request, repo: str | None, ref: str | None, git_token_file: Path | None, **given: Any) -> int:
        with opened(with_token(request, git_token_file), repo, ref) as ready:
            return command(ready, **given)

    add_options(called, command, REPO_OPTIONS)
    return called


REPO_OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "repo": (_Repo, None),
    "ref": (_Ref, None),
    "git_token_file": (_Token, None),
}
"""Annotation and default of each option."""


def add_options(
    called: Callable[..., int], command: Callable[..., Any], options: Mapping[str, tuple[Any, Any]]
) -> None:
    """Give ``called`` the signature of ``command`` with more ``options``, which typer reads."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        *(parameter.replace(kind=keyword) for parameter in signature.parameters.values()),
        *(inspect.Parameter(name, keyword, annotation=kind, default=given) for name, (kind, given) in options.items()),
    ]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # see options.py


def with_token(request: Request, git_token_file: Path | None) -> Request:
    from osm_gitops.git.address import TokenFile  # noqa: PLC0415 - slow

    return replace(request, token=TokenFile(git_token_file)) if git_token_file else request


@contextmanager
def opened(request: Request, repo: str | None, ref: str | None) -> Iterator[Request]:
    """The request in a clone of ``repo``, or without one as it is. Raises InputError and TargetError."""
    if repo is None:
        if ref is not None:
            raise input_error(Code.OPTIONS_CONFLICT, "has no effect without --repo", where="--ref", fix="Add --repo")
        yield request
        return
    from osm_gitops.git.address import parse_address  # noqa: PLC0415 - slow
    from osm_gitops.git.remote import temporary_clone  # noqa: PLC0415 - slow

    with temporary_clone(parse_address(repo), ref or "", request.token) as clone:
        console.shows(clone.root, clone.shown)
        settings = {flag: replace(setting, base=str(clone.root)) for flag, setting in request.settings.items()}
        yield replace(request, base=clone.root, clone=clone, settings=settings)
