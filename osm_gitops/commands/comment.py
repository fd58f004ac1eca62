"""Keep one comment with a plan on a pull request.

Finds its comment by a hidden marker with NAME and by its author, updates it, and changes no other
comment. In jobs of GitHub, GitLab, Gitea and Forgejo, repository and pull request are those of the
job. Reads no config repository, so it may run beside a tree of strangers.

Examples:
  osm-gitops comment plan.md        # what plan -o markdown --max-length 64000 > plan.md wrote
  osm-gitops comment plan.md --name staging --only-update
  osm-gitops comment plan.md --repository https://gitlab.example.com/a/nodes.git --number 7
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.cli.console import console
from osm_gitops.cli.options import option
from osm_gitops.cli.run_options import ForgeAddress, ForgeName, ForgeTokenFile
from osm_gitops.errors import Code, ForgeError, input_error

if TYPE_CHECKING:
    from osm_gitops.forge.place import Place

_NAME: Final = re.compile(r"\w(?:[\w .:/]|-(?!-)){0,99}")
_FORBIDDEN: Final = 403


def comment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The text of the comment, Markdown.")],
    name: Annotated[
        str, option("--name", "Name of the comment. Give one to each where a pull request has several.", metavar="NAME")
    ] = "fleet",
    author: Annotated[
        str,
        option(
            "--author",
            "Account whose comment is updated. Without it, the token's account, which a GitHub App cannot ask for.",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    only_update: Annotated[
        bool, option("--only-update", "Update a comment that exists, but do not begin one: nothing changes.")
    ] = False,
    allow_forbidden: Annotated[
        bool,
        option("--allow-forbidden", "Exit with 0 if the token may not comment (403), as tokens of forks may not."),
    ] = False,
    repository: Annotated[
        str,
        option("--repository", "Address of the repository. Without it, the one of the CI job.", metavar="URL"),
    ] = "",
    number: Annotated[
        int | None,
        option("--number", "Number of the pull request. Without it, the one of the CI job.", metavar="N", min=1),
    ] = None,
    forge: ForgeName = None,
    forge_api: ForgeAddress = "",
    forge_token_file: ForgeTokenFile = None,
) -> int:
    from osm_gitops.forge.api import Access  # noqa: PLC0415 - slow
    from osm_gitops.forge.forge import forge_at  # noqa: PLC0415 - slow
    from osm_gitops.forge.jobs import number_of_job, place_of_job  # noqa: PLC0415 - slow
    from osm_gitops.forge.keeping import OwnComment, keep_comment  # noqa: PLC0415 - slow
    from osm_gitops.forge.place import place_of  # noqa: PLC0415 - slow
    from osm_gitops.forge.token import ForgeToken  # noqa: PLC0415 - slow
    from osm_gitops.git.address import parse_address  # noqa: PLC0415 - slow

    environment: Mapping[str, str] = dict(os.environ)
    if not _NAME.fullmatch(name):
        what = f'"{name}" is not a name of letters, digits, blanks and .:/-_'
        raise input_error(Code.INVALID_OPTION, what, where="--name")
    if repository:
        place: Place | None = place_of(parse_address(repository, "--repository"), forge, forge_api)
    else:
        place = place_of_job(environment)
    number = number or number_of_job(environment)
    for missing, flag in ((place is None, "--repository"), (number is None, "--number")):
        if missing:
            fix = f"Give it with {flag}, or run in a CI job for a pull request"
            raise input_error(Code.MISSING_ARGUMENT, "the pull request is not known", where=flag, fix=fix)
    assert place is not None
    assert number is not None
    text = _text(file)
    token = ForgeToken(forge_token_file, environment)
    with closing(forge_at(place, Access(token.read, environment))) as there:
        try:
            own = OwnComment(author or there.account(), f"<!-- osm-gitops plan: {name} -->", text)
            console.say(keep_comment(there, number, own, begin=not only_update))
        except ForgeError as refusal:
            if not allow_forbidden or refusal.status != _FORBIDDEN:
                raise
            console.say("The token may not write comments on this pull request: nothing was written.")
    return 0


def _text(file: Path) -> str:
    try:
        return read_file(file, SMALL).decode()
    except OSError as fault:
        raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where=str(file)) from fault
    except UnicodeDecodeError:
        raise input_error(Code.TEXT_ENCODING, "is not UTF-8 text", where=str(file)) from None
