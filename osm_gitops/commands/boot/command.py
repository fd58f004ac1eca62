"""Boot a machine of a pool here, and say whether it joins.

Writes the pool's boot configuration into a throw-away API server, as apply does, and boots a machine
with it in a container: systemd, cloud-init or Ignition, apt or dnf, containerd, a kubelet of the
pool's version. Shows both stages live, each step that was reached, and what to look at if the machine
did not join. Every host that the profile names is a server of this boot: nothing leaves this machine.
Needs Linux, root and osm-gitops[boot]; the first run builds for a quarter of an hour. Runs the pool's
scripts as root in that container: boot only what you trust.

Examples:
  osm-gitops boot workers                                  # a pool of the fleet
  osm-gitops boot kube-system/workers --cluster prod-eu -o json
  osm-gitops boot workers --overlay overlays/next          # with a change that is not committed
  osm-gitops boot workers --file https://example.com/agent.tgz=agent.tgz --package htop
  osm-gitops boot workers --stay                           # to look at the machine afterwards
"""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from osm_gitops.cli.completion import complete_pool
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form, Request, option, with_all_pools
from osm_gitops.cli.run_options import duration, run_options
from osm_gitops.errors import Code, InputError, Problem


@with_all_pools
def boot(
    request: Request,
    name: Annotated[
        str,
        typer.Argument(metavar="MD", help="MachineDeployment: NAME or NAMESPACE/NAME.", autocompletion=complete_pool),
    ],
    timeout: Annotated[str, option("--timeout", "How long the machine may take to join.", metavar="DURATION")] = "10m",
    files: Annotated[
        list[str] | None,
        option(
            "--file",
            "Answer this URL with a local file, where the boot has none or should have another one. May be repeated.",
            metavar="URL=FILE",
        ),
    ] = None,
    packages: Annotated[
        list[str] | None,
        option(
            "--package",
            "Have an empty package of this name, as those that the profile shows are there. May be repeated.",
            metavar="NAME",
        ),
    ] = None,
    stay: Annotated[bool, option("--stay", "Leave the machine running after the report, until Ctrl-C.")] = False,
    output: Annotated[Form, option("--output,-o", "Format of the report.")] = Form.TEXT,
) -> int:
    from osm_gitops.cli.clusters import clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.boot.booting import BootOptions, booted  # noqa: PLC0415 - slow
    from osm_gitops.commands.boot.report import boot_json, boot_text  # noqa: PLC0415 - slow
    from osm_gitops.commands.boot.verdict import problems  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow

    wanted = BootOptions(
        timeout=duration(timeout, "--timeout"), files=_files(files or ()), packages=tuple(packages or ())
    )
    clusters = clusters_of(request, needs_target=False)
    with booted(name, clusters, run_options(request, Limits(), None), wanted) as (found, machine, masker):
        console.out(boot_json(found, masker) if output is Form.JSON else boot_text(found, masker))
        if stay and machine.runs:
            console.say(f"The machine stays until Ctrl-C. To look at it: {machine.shell}")
            try:
                Event().wait()
            except KeyboardInterrupt:
                console.say("The machine ends.")
    wrong = problems(found)
    console.problems(wrong, masker=masker)
    return 1 if wrong else 0


def _files(given: list[str] | tuple[str, ...]) -> dict[str, Path]:
    """Files by URL. Raises InputError with all that are wrong."""
    found: dict[str, Path] = {}
    wrong = []
    for each in given:
        url, _, path = each.rpartition("=")
        file = Path(path)
        if not url.startswith(("http://", "https://")):
            fix = "Write --file https://example.com/agent.tgz=agent.tgz"
            wrong.append(Problem(Code.INVALID_OPTION, "it is not URL=FILE", where=f"--file {each}", fix=fix))
        elif not file.is_file():
            wrong.append(Problem(Code.FILE_UNREADABLE, "there is no such file", where=f"--file {each}", about=path))
        found[url] = file.absolute()
    if wrong:
        raise InputError(wrong)
    return found
