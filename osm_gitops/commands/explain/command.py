"""Show where the boot configuration of a pool comes from.

Shows warnings first, whether the target has the same content, the profile and why it is used, the
origin of each setting, the values that its templates read, facts, kubelet annotations that apply and
those that are ignored, the resulting objects and files, the size of the user-data compared with the
provider's limit, and what to run on a machine that does not join. Names secrets and never shows them.

Examples:
  osm-gitops explain workers                                   # a pool of the fleet
  osm-gitops explain kube-system/workers --cluster prod-eu -o json
  osm-gitops explain workers --file /opt/bin/setup             # one rendered file
  osm-gitops explain workers --user-data bootstrap
  osm-gitops explain workers --downloads                       # what its nodes ask for
  osm-gitops explain --downloads -o json                       # what all nodes of the fleet ask for
  osm-gitops explain workers --from cluster --context prod
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from osm_gitops.cli.completion import complete_pool
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form, Request, option, with_all_pools
from osm_gitops.cli.run_options import run_options
from osm_gitops.errors import Code, InputError, did_you_mean, input_error

if TYPE_CHECKING:
    from osm_gitops.model.explained import RenderedFile, Rendering
    from osm_gitops.model.objects import ObjectRef
    from osm_gitops.pipeline.options import RunOptions


class HalfName(Enum):
    BOOTSTRAP = "bootstrap"
    PROVISIONING = "provisioning"


@with_all_pools
def explain(
    request: Request,
    name: Annotated[
        str,
        typer.Argument(
            metavar="[MD]",
            help="MachineDeployment: NAME or NAMESPACE/NAME.",
            autocompletion=complete_pool,
            show_default=False,
        ),
    ] = "",
    file: Annotated[
        str,
        option(
            "--file", "Print this file or unit as rendered, with secrets masked.", metavar="PATH", show_default=False
        ),
    ] = "",
    half: Annotated[
        HalfName | None, option("--half", "With --file: the half to search, if both have the file.")
    ] = None,
    user_data: Annotated[
        HalfName | None, option("--user-data", "Print the user-data of this half, with secrets masked.")
    ] = None,
    downloads: Annotated[
        bool,
        option(
            "--downloads",
            "List every URL, host, package and image that nodes fetch while they boot. Without MD, of all pools.",
        ),
    ] = False,
    output: Annotated[Form, option("--output,-o", "Format of the explanation.")] = Form.TEXT,
) -> int:
    from osm_gitops.cli.clusters import clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.explain.explaining import explain_pool  # noqa: PLC0415 - slow
    from osm_gitops.commands.explain.report import (  # noqa: PLC0415
        explanation_json,
        explanation_text,
        file_text,
        masker_of,
        user_data_text,
    )
    from osm_gitops.commands.explain.targets import target_use  # noqa: PLC0415

    if downloads and (file or user_data is not None):
        raise input_error(
            Code.OPTIONS_CONFLICT, "--downloads prints another list", fix="Leave out --file and --user-data"
        )
    if file and user_data is not None:
        raise input_error(
            Code.OPTIONS_CONFLICT, "--file and --user-data each print one text", fix="Leave one of them out"
        )
    if half is not None and not file:
        raise input_error(
            Code.OPTIONS_CONFLICT, "--half says where to look for a file", fix="Add --file, or use --user-data"
        )
    if downloads:
        return _show_downloads(request, name, output)
    if not name:
        raise input_error(
            Code.MISSING_ARGUMENT, "explain needs the name of a MachineDeployment", fix="Name one, or add --downloads"
        )
    clusters = clusters_of(request, needs_target=False)
    options = _options(request)
    explanation = explain_pool(name, clusters, options)
    masker, hide = masker_of(explanation), request.untrusted
    if file or user_data is not None:
        if explanation.rendering is None:
            raise InputError(masker.problem(problem) for problem in explanation.problems)
        if user_data is not None:
            console.out(user_data_text(explanation.rendering, user_data.value, masker, hide_secret_files=hide))
        else:
            chosen = _chosen_file(explanation.pool, explanation.rendering, file, half)
            console.out(file_text(explanation.rendering, chosen, masker, hide_secret_files=hide))
        return 0
    if not (request.untrusted or explanation.placeholders):
        spec = next(each for each in clusters if each.name == explanation.cluster)
        profile = explanation.profile.ref if explanation.profile else None
        explanation = replace(explanation, target=target_use(spec, explanation.pool, profile, options))
    if output is Form.JSON:
        console.out(explanation_json(explanation, masker, hide_secret_files=hide))
    else:
        console.out(explanation_text(explanation, masker, console.width(), hide_secret_files=hide))
    return 1 if explanation.problems else 0


def _options(request: Request) -> RunOptions:
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow

    # Of an untrusted tree nothing is decrypted: placeholders serve as well here.
    return run_options(request, Limits(), None, without_keys=request.untrusted)


def _show_downloads(request: Request, name: str, output: Form) -> int:
    from osm_gitops.cli.clusters import clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.explain.downloading import (  # noqa: PLC0415 - imports tree-sitter
        downloads_json,
        downloads_of_all,
        downloads_of_pool,
        downloads_text,
    )
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    clusters = clusters_of(request, needs_target=False)
    options = _options(request)
    found = downloads_of_pool(name, clusters, options) if name else downloads_of_all(clusters, options)
    masker = Masker(found.sensitive)
    write = downloads_json if output is Form.JSON else downloads_text
    console.out(write(found, masker))
    console.problems(found.problems, masker=masker)
    return 1 if found.failed or found.problems else 0


def _chosen_file(pool: ObjectRef, rendering: Rendering, file: str, half: HalfName | None) -> RenderedFile:
    """The file named by ``--file``. Raises InputError if there is none, or more than one."""
    found = [each for each in rendering.files if each.path == file and half in {None, HalfName(each.half)}]
    if len({each.half for each in found}) > 1:
        raise input_error(
            Code.BOOT_FILE_NOT_FOUND, f"both halves have a file {file}", where="--file", fix="Choose one with --half"
        )
    elsewhere = next((each.half for each in rendering.files if each.path == file), "")
    if not found and half is not None and elsewhere:
        fix = f"Use --half {elsewhere}"
        raise input_error(
            Code.BOOT_FILE_NOT_FOUND,
            f"the {half.value} half has no file {file}",
            where="--half",
            about=str(pool),
            fix=fix,
        )
    if not found:
        known = [each.path for each in rendering.files]
        fix = did_you_mean(file, known, f"{pool} has {', '.join(known)}")
        raise input_error(Code.BOOT_FILE_NOT_FOUND, f"file {file} not found", where="--file", about=str(pool), fix=fix)
    # If a half has a path twice, the node keeps the last one.
    return found[-1]
