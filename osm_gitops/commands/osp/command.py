"""List, show, compare and convert OperatingSystemProfiles.

Examples:
  osm-gitops osp list                                                   # those of the fleet
  osm-gitops osp diff osp-ubuntu@v2.0.0 osps/osp-ubuntu.yaml            # what a fork changed
  osm-gitops osp convert osps/osp-mine.yaml > osps/osp-mine.jinja.yaml  # Go templates to Jinja2
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osm_gitops.bounded.files import LARGE, read_file, read_stream
from osm_gitops.cli.completion import complete_profile
from osm_gitops.cli.console import console
from osm_gitops.cli.help import CommandLine
from osm_gitops.cli.options import Form, Request, Untrusted, option, with_sources
from osm_gitops.errors import Code, input_error

if TYPE_CHECKING:
    from osm_gitops.commands.osp.diff import ProfileDiff
    from osm_gitops.commands.osp.profile_list import AvailableProfiles

_STDIN = "-"


class ShownForm(Enum):
    YAML = "yaml"
    JSON = "json"


osp = CommandLine(name="osp", help=__doc__, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@osp.command("list")
@with_sources
def list_profiles(
    request: Request,
    output: Annotated[Form, option("--output,-o", "Format of the list.")] = Form.TEXT,
) -> int:
    """List the available profiles, and how many pools use each.

    Reads the sources of the fleet file, or --from, and decrypts nothing. Also lists the built-in profiles
    whose names the source does not have. Without a source, lists only the built-in profiles.

    Examples:
      osm-gitops osp list                                   # those of the fleet
      osm-gitops osp list --from cluster-dump@main -o json  # those of a tree at a git revision
    """
    from osm_gitops.commands.osp.profile_list import format_profiles, profiles_json  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    available = _available(request)
    masker = Masker(available.sensitive)
    write = profiles_json if output is Form.JSON else format_profiles
    if available.found or output is Form.JSON:
        console.out(write(available.found, masker))
    elif not available.problems:
        console.say("There are no profiles in these sources.")
    console.problems(available.problems, masker=masker)
    return 1 if available.problems else 0


@osp.command()
@with_sources
def show(
    request: Request,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name, or NAMESPACE/NAME; NAME@VERSION for a built-in profile.",
            autocompletion=complete_profile,
        ),
    ],
    output: Annotated[ShownForm, option("--output,-o", "Format of the profile.")] = ShownForm.YAML,
) -> int:
    """Print one profile, with the defaults of its CRD.

    Prints the profile that pools get, as it is in the source. Decrypts nothing.

    Examples:
      osm-gitops osp show osp-ubuntu                              # that of the whole fleet
      osm-gitops osp show osp-ubuntu --cluster prod-eu -o json
      osm-gitops osp show kube-system/osp-ubuntu --from osps@v1.2
      osm-gitops osp show osp-ubuntu@v2.0.0                       # the built-in one of that version
      osm-gitops osp show osp-ubuntu --overlay overlays/mine      # what an overlay makes of it
    """
    from osm_gitops.commands.osp.profile_list import choose_profile  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow
    from osm_gitops.yaml.emit import dump  # noqa: PLC0415 - slow

    available = _available(request, name)
    body = choose_profile(name, available)
    whole = json.dumps(body, indent=2, ensure_ascii=False) + "\n" if output is ShownForm.JSON else dump(body)
    console.out(whole)
    if any(text in whole for text in available.placeholders):
        console.say("Some values are encrypted in the source: placeholders are shown for them.")
    console.problems(available.problems, label="Warning", masker=Masker(available.sensitive))
    return 0


@osp.command()
@with_sources
def diff(
    request: Request,
    before: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="NAME of an available profile, NAME@VERSION of a built-in one, or PATH[@REV] of a file with one.",
            autocompletion=complete_profile,
        ),
    ],
    after: Annotated[
        str,
        typer.Argument(
            metavar="[B]",
            help="The same. Without it: A with the overlays of --overlay.",
            show_default=False,
            autocompletion=complete_profile,
        ),
    ] = "",
    output: Annotated[Form, option("--output,-o", "Format of the differences.")] = Form.TEXT,
) -> int:
    """Show how two profiles differ, text by text.

    Compares files, templates, units and fields as they are in the profiles, without rendering. Exits with
    0 whether they differ or not; in JSON, the key "differ" says it.

    Examples:
      osm-gitops osp diff osp-ubuntu@v2.0.0 osps/osp-ubuntu.yaml       # a fork and what it came from
      osm-gitops osp diff osps/osp-mine.yaml@main osps/osp-mine.yaml
      osm-gitops osp diff osp-rhel osp-rockylinux -o json
      osm-gitops osp diff osp-ubuntu --overlay overlays/mine           # what an overlay does
    """
    from osm_gitops.commands.osp.diff import format_profile_diff, profile_diff_json  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow
    from osm_gitops.report.text import Style  # noqa: PLC0415 - slow

    found = _compared(request, before, after)
    masker = Masker(found.sensitive)
    if output is Form.JSON:
        console.out(profile_diff_json(found.before, found.after, found.changes, masker))
    else:
        console.out(format_profile_diff(found.changes, masker, Style(color=console.colours())))
    console.problems(found.problems, label="Warning", masker=masker)
    return 0


def _compared(request: Request, before: str, after: str) -> ProfileDiff:
    from osm_gitops.cli.clusters import clusters_of, names_clusters, overlays_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.osp.diff import (  # noqa: PLC0415 - slow
        Sides,
        diff_overlaid,
        diff_profiles,
        without_and_with,
    )
    from osm_gitops.commands.osp.profile_list import profiles_of  # noqa: PLC0415 - slow

    if after:
        sides = Sides(request.base, request.environment, lambda: _available(request), untrusted=request.untrusted)
        return diff_profiles(before, after, sides)
    if not request.overlays:
        raise input_error(
            Code.MISSING_ARGUMENT,
            "osp diff needs two profiles, or overlays",
            fix="Name a second one, or overlays with --overlay",
        )
    plain = replace(request, overlays=())
    if "@" in before or not names_clusters(request):
        return diff_overlaid(before, _available(plain, before), _available(request, before), request.overlays)
    pairs = [without_and_with(spec, overlays_of(request)) for spec in clusters_of(plain, needs_target=False)]
    old, new = (
        profiles_of([pair[side] for pair in pairs], request.environment, request.connections) for side in (0, 1)
    )
    return diff_overlaid(before, old, new, request.overlays)


def _available(request: Request, name: str = "") -> AvailableProfiles:
    """The profiles to search for ``name``; for a built-in ``NAME@VERSION`` no source is read."""
    from osm_gitops.cli.clusters import clusters_of, names_clusters, overlays_of, trust_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.osp.profile_list import (  # noqa: PLC0415 - slow
        built_in_profiles,
        profiles_of,
        released_profile,
    )

    if "@" in name:
        return released_profile(name, overlays_of(request), trust_of(request))
    if not names_clusters(request):
        return built_in_profiles(tuple(request.settings.values()), overlays_of(request), trust_of(request))
    return profiles_of(clusters_of(request, needs_target=False), request.environment, request.connections)


@osp.command()
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of manifests, YAML or JSON; - for stdin.")],
    untrusted: Untrusted = False,
) -> int:
    """Print a file of profiles with its Go templates as Jinja2.

    The files that the profile renders to do not change. Comments, layout, everything that is not a
    template, and profiles that are already Jinja2 stay as they are. stderr lists what to check by
    hand; docs/how-to/convert-profiles.md explains it.

    Examples:
      osm-gitops osp convert osps/osp-mine.yaml > osps/osp-mine.jinja.yaml
      osm-gitops osp convert - > osp-mine.yaml  # behind kubectl get osp osp-mine --output yaml |
    """
    from osm_gitops.commands.osp.convert import convert_file  # noqa: PLC0415 - imports ruamel.yaml
    from osm_gitops.model.settings import Settings  # noqa: PLC0415 - slow
    from osm_gitops.sources.trust import distrust  # noqa: PLC0415 - slow

    if untrusted and str(file) != _STDIN:
        distrust(file.parent).check(file, str(file))
    name = "stdin" if str(file) == _STDIN else str(file)
    done = convert_file(_read(file), name, Settings().namespace)
    console.out(done.text)
    for ref in done.already:
        console.say(f"{ref} is already Jinja2: not changed.")
    console.problems(done.warnings, label="Warning")
    return 0


def _read(file: Path) -> bytes:
    if str(file) == _STDIN:
        try:
            return read_stream(sys.stdin.buffer, LARGE)
        except OSError as fault:
            raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where="stdin") from fault
    if file.is_dir():
        raise input_error(Code.FILE_UNREADABLE, "is a folder", where=str(file), fix="Name a file of manifests")
    try:
        return read_file(file, LARGE)
    except OSError as fault:
        raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where=str(file)) from fault
