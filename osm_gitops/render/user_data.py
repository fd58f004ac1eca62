"""User-data: what a cloud-config Secret holds for a machine (osm-behaviour.md, "User-data")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from osm_gitops.errors import Code, input_error
from osm_gitops.gocompat.text import trim_space
from osm_gitops.model.config import ConfigHalf, OperatingSystemConfig
from osm_gitops.render.cloudinit import render_cloud_init
from osm_gitops.render.ignition import render_ignition

Kind = Literal["bootstrap", "provisioning"]

# machine-controller puts the machine's name here (osm-behaviour.md, "machine-controller").
MACHINE_NAME = "<MACHINE_NAME>"


@dataclass(frozen=True, slots=True)
class Pool:
    """What user-data takes from the MachineDeployment itself.

    ``provisioning_utility`` is the one that its operating system asks for (osm-behaviour.md, "Profile selection").
    """

    name: str
    provisioning_utility: str
    dist_upgrade: bool = False


def user_data(kind: Kind, config: OperatingSystemConfig, half: ConfigHalf, pool: Pool) -> str:
    """The text of one cloud-config Secret: ``half`` of ``config`` for ``pool``.

    Raises InputError if the utilities disagree, or with everything that Ignition
    would not take.
    """
    utility = pool.provisioning_utility
    if config.provisioning_utility not in ("", utility):
        raise input_error(
            Code.UNCODED,
            f'the machines are set up with "{utility}", but the OperatingSystemConfig is made for '
            f'"{config.provisioning_utility}"',
            field="spec.provisioningUtility",
            fix="Make the profile's provisioningUtility and the MachineDeployment's operatingSystemSpec agree",
        )
    named = kind == "bootstrap" and config.provider != "aws"
    keys = unique_keys(half.ssh_keys)
    if utility == "ignition":
        return render_ignition(half, keys, f"spec.{kind}Config", with_machine_name=named)
    # An edge machine is not made by machine-controller, so nobody else would name it.
    machine_name = pool.name if config.provider == "edge" else MACHINE_NAME
    return render_cloud_init(half, keys, machine_name if named else None, dist_upgrade=pool.dist_upgrade)


def unique_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """SSH keys without surrounding white space, empty ones and repetitions, in their first order."""
    return tuple(dict.fromkeys(key for key in map(trim_space, keys) if key))
