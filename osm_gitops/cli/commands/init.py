"""``osm-gitops init``: a config repository to start with."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from osm_gitops.cli.commands.schema import Described, schema_text
from osm_gitops.cli.console import console
from osm_gitops.errors import input_error
from osm_gitops.fleet.fleet_file import NAME_RULE, is_cluster_name
from osm_gitops.sops.keys import add_identity, default_key_file, new_identity

_README = "README.md"
_NEXT = """
Next:
  cd {root}
  osm-gitops doctor           is everything here that a run needs?
  osm-gitops plan             what would be written for the example pool
  git add . && git commit     then osm-gitops apply commits the desired state
README.md there says what to replace.
"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; made if it is not there.")] = Path(),
    recipients: Annotated[
        list[str] | None,
        typer.Option(
            "--age-recipient",
            metavar="AGE",
            help="Encrypt for this age recipient, in place of a new key; may be given several times.",
            envvar="OSM_GITOPS_AGE_RECIPIENT",
        ),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option("--cluster", metavar="NAME", help="Name of the first cluster.", envvar="OSM_GITOPS_CLUSTER"),
    ] = "example",
) -> int:
    """Scaffold a config repository.

    Writes a fleet file with comments, an example that can be planned at once, the encryption rules, a
    workflow for GitHub, hooks and a README. Overwrites nothing, and commits nothing. The new private
    key goes into the key file of sops in your home, beside those that are there.

    Examples:
      osm-gitops init nodes                    # a new folder with a new git repository
      osm-gitops init --cluster prod-eu        # here, in the repository that is there
      osm-gitops init nodes --age-recipient "$MINE" --age-recipient "$FLUX"
    """
    # Imported here, as no other command needs it.
    from osm_gitops.fleet.scaffold import Scaffold, free_files, place_of, refuse_key_in, write_files  # noqa: PLC0415

    if not is_cluster_name(cluster):
        raise input_error(f'"{cluster}" cannot be: {NAME_RULE}', where="--cluster")
    place = place_of(folder)
    key, own = ("", tuple(recipients)) if recipients else _new_key()
    scaffold = Scaffold(_texts(), schema_text(Described.FLEET), cluster, own, _now())
    chosen = free_files(place, scaffold.files(place.branch))
    key_file = _key_file() if key else None
    if key_file is not None:
        refuse_key_in(place.root, key_file)
        # Before the files: what nobody can open is worth nothing, while a key that nothing needs harms nobody.
        add_identity(key_file, key)
    write_files(place, chosen)
    _tell(place.root, chosen, key_file, own)
    return 0


def _texts() -> dict[str, str]:
    from importlib.resources import files  # noqa: PLC0415

    return {entry.name: entry.read_text("utf-8") for entry in files("osm_gitops.cli").joinpath("scaffold").iterdir()}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _new_key() -> tuple[str, tuple[str, ...]]:
    text, recipient = new_identity()
    return text, (recipient,)


def _key_file() -> Path:
    path = default_key_file(os.environ)
    if path is None:
        raise input_error(
            "there is no place for a new key: this user has no home folder",
            fix="Make a key with age-keygen and give its public side as --age-recipient",
        )
    return path


def _tell(root: Path, written: Collection[str], key_file: Path | None, recipients: tuple[str, ...]) -> None:
    for path in written:
        console.out(f"{(root / path).as_posix()}\n")
    if _README not in written:
        console.say(f"{_README} is there already and stays as it is.")
    if key_file is not None:
        console.say(f"The private key of {recipients[0]} is in {key_file}: keep a copy of it in a safe place.")
    else:
        console.say("To plan, the private key of a recipient must be where sops finds it; osm-gitops doctor looks.")
    console.say(_NEXT.format(root=quote(str(root))).rstrip("\n"))
