"""README and docs against the program: commands are run in order, tables are true, every link leads somewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from osm_gitops.gotemplate.functions import FUNCTIONS, REFUSED
from osm_gitops.render.data import ROOT_TYPES
from tests.apiserver.after_osm import after_osm, with_machine_sets
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import deploy_as_recorded
from tests.demo_fleet import DEMO, opened

ROOT = Path(__file__).resolve().parent.parent
# Documents whose commands are run, one after the other. Each begins in the folder that holds the project.
RUN = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorials" / "first-use.md",
    ROOT / "docs" / "how-to" / "plans.md",
    ROOT / "docs" / "how-to" / "reports.md",
    ROOT / "docs" / "how-to" / "adoption.md",
    ROOT / "docs" / "how-to" / "pipelines.md",
]
TUTORIAL = RUN[1].read_text("utf-8")
PROFILES = (ROOT / "docs" / "reference" / "profiles.md").read_text("utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

# What may stand in a fence. Commands stand in the first two only, and in `run:` of yaml.
COMMANDS = {"console", "bash"}
OTHERS = {"text", "yaml"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a document."""

    language: str
    text: str


def blocks(document: str) -> list[Block]:
    found = re.findall(r"^```(.*)\n((?:.*\n)*?)```$", document, re.MULTILINE)
    assert document.count("\n```") == 2 * len(found), "a fence is not closed"
    return [Block(language, text) for language, text in found]


def steps(document: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands of a document in order: a script, and the lines that it is said to print."""
    for block in blocks(document.read_text("utf-8")):
        if block.language == "bash":
            yield block.text, []
        elif block.language == "console":
            lines = block.text.splitlines()
            assert lines[0].startswith("$ ")
            yield (
                "\n".join(line[2:] for line in lines if line.startswith("$ ")),
                [line for line in lines if not line.startswith("$ ")],
            )
        elif block.language == "yaml":
            for step in yaml.safe_load(block.text):
                if "run" in step:
                    variables = "".join(f"export {name}={value}\n" for name, value in step.get("env", {}).items())
                    yield f"{variables}{step['run']}", []


# --- running every command ---


def listed(*objects: dict[str, Any]) -> str:
    """What ``kubectl get … --output yaml`` prints: a List, with all that a server adds."""
    items = []
    for entry in objects:
        server = {
            "creationTimestamp": "2026-01-05T10:00:00Z",
            "generation": 3,
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
            "resourceVersion": "4711",
            "uid": "0b6b9c0e-7f0e-4c1e-9b59-0d2f4b9d3c11",
        }
        annotations = entry["metadata"].get("annotations", {}) | {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(entry)
        }
        if entry["kind"] == "MachineDeployment":
            annotations["machinedeployment.clusters.k8s.io/revision"] = "1"
        items.append(entry | {"metadata": entry["metadata"] | server | {"annotations": annotations}})
    return yaml.safe_dump({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})


def frozen_cluster() -> dict[str, str]:
    """The answers of the stub kubectl by resource: the demo's cluster ``dev``, with the README's names."""
    pool = yaml.safe_load((DEMO / "dev" / "playground.yaml").read_text("utf-8"))
    profile = yaml.safe_load((DEMO / "osps" / "demo-rockylinux.yaml").read_text("utf-8"))
    info = yaml.safe_load((DEMO / "dev" / "facts.yaml").read_text("utf-8"))
    (token,) = opened((DEMO / "dev" / "secrets.yaml").read_text("utf-8"))
    pool["metadata"]["name"] = "workers"
    pool["metadata"]["annotations"] = {"k8c.io/operating-system-profile": "rocky"}
    pool["status"] = {"observedGeneration": 3, "replicas": 1, "readyReplicas": 1}
    profile["metadata"]["name"] = "rocky"
    return {
        "machinedeployments.cluster.k8s.io": listed(pool),
        "operatingsystemprofiles": listed(profile),
        "configmap cluster-info": yaml.safe_dump(info),
        "secret cloud-init-getter-token": yaml.safe_dump(token),
        "deployment operating-system-manager": json.dumps(
            [
                "-namespace=kube-system",
                "-cluster-dns=10.96.0.10",
                "-external-cloud-provider=true",
                "-leader-elect=true",
            ],
            separators=(",", ":"),
        )
        + "\n",
    }


KUBECTL = """
    import json, pathlib, re, subprocess, sys
    arguments = sys.argv[1:]
    if arguments[0] == "apply":
        assert sys.stdin.read().startswith("---\\n")
        sys.exit()
    assert arguments.pop(0) == "get", arguments
    words = []
    while arguments:
        word = arguments.pop(0)
        if word in {"--namespace", "--output"}:
            arguments.pop(0)
        elif word != "--all-namespaces":
            words.append(word)
    what = " ".join(words)
    if what.endswith("-provisioning-config"):
        # What Operating System Manager made with the same settings, by the way of another command.
        render = "osm-gitops render --from cluster-dump --to - --cluster-dns 10.96.0.10 --external-cloud-provider"
        made = subprocess.run(render.split(), capture_output=True, text=True, check=True).stdout
        secret = next(text for text in made.split("---\\n") if f"\\n  name: {words[1]}\\n" in text)
        print(re.search("cloud-config: (.*)", secret)[1], end="")
    else:
        print(json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())[what], end="")
"""

DOCKER = """
    import os, pathlib, subprocess, sys
    arguments = sys.argv[1:]
    assert arguments.pop(0) == "run"
    environment, volumes, flags = dict(os.environ), [], []
    while arguments[0].startswith("--"):
        flag = arguments.pop(0)
        flags.append(flag)
        if flag == "--env":
            name, _, value = arguments.pop(0).partition("=")
            environment[name] = value
        elif flag == "--volume":
            volumes.append(arguments.pop(0).split(":"))
        elif flag in {"--tmpfs", "--user"}:
            flags.append(arguments.pop(0))
        else:
            assert flag in {"--rm", "--read-only"}, flag
    assert "--read-only" in flags and "/tmp" in flags
    inside = {place: os.path.realpath(folder) for folder, place, *_ in volumes}
    # What the container sees at a place of its own lies elsewhere here.
    named = pathlib.PurePosixPath(environment["SOPS_AGE_KEY_FILE"])
    environment["SOPS_AGE_KEY_FILE"] = os.path.join(inside[str(named.parent)], named.name)
    del environment["HOME"]
    assert arguments.pop(0) == "osm-gitops"
    sys.exit(subprocess.run(["osm-gitops", *arguments], cwd=inside["/repo"], env=environment).returncode)
"""

# `make test` would run this test again: what make would do is as far as it goes. `make demo` is run by test_demo.py.
MAKE = """
    import subprocess, sys
    sys.exit(subprocess.run(["{make}", "--dry-run", "--directory", "{root}", *sys.argv[1:]]).returncode)
"""


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{dedent(text)}", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def fresh_machine(tmp_path: Path) -> Path:
    """A folder with the project in it, stand-ins for kubectl, docker and make, and a git server."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program(programs, "kubectl", KUBECTL)
    (programs / "kubectl.json").write_text(json.dumps(frozen_cluster()), "utf-8")
    program(programs, "docker", DOCKER)
    program(programs, "make", MAKE.format(make=shutil.which("make"), root=ROOT))
    (programs / "uv").symlink_to(uv())
    work = tmp_path / "work"
    work.mkdir()
    for name in ("pyproject.toml", "uv.lock", "README.md", "LICENSE", "Dockerfile", "osm_gitops", "osps", "overlays"):
        (work / name).symlink_to(ROOT / name)
    server = tmp_path / "server" / "platform" / "nodes.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(server)], check=True)
    (tmp_path / "gitconfig").write_text(
        f"[user]\n name = me\n email = me@example.com\n[init]\n defaultBranch = main\n"
        f'[url "{tmp_path}/server/"]\n insteadOf = ssh://git@git.example.com/\n',
        "utf-8",
    )
    return tmp_path


def uv() -> Path:
    """The uv that runs this, as the Makefile finds it."""
    candidates = (os.environ.get("UV"), shutil.which("uv"), str(ROOT / ".tools" / "bin" / "uv"))
    return next(Path(each) for each in candidates if each and Path(each).exists())


def cache() -> str:
    """Where uv keeps what it has downloaded; a home of its own would make it download anew."""
    return subprocess.run([uv(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


def environment(machine: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OSM_GITOPS_", "GIT_"))}
    # The tool that `uv tool install` puts in place comes first.
    path = os.pathsep.join([str(machine / "bin"), str(machine / "programs"), str(Path(sys.executable).parent)])
    return kept | {
        "PATH": f"{path}{os.pathsep}{kept['PATH']}",
        "UV_TOOL_DIR": str(machine / "tools"),
        "UV_TOOL_BIN_DIR": str(machine / "bin"),
        "GIT_CONFIG_GLOBAL": str(machine / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(machine / "home"),  # a new private key goes there
        "KUBECONFIG": str(machine / "kubeconfig"),
        "UV_CACHE_DIR": cache(),
        "NO_COLOR": "1",
    }


@pytest.fixture
def cluster_of_osm(management: Cluster, tmp_path: Path) -> None:
    """A cluster that OSM has run on, and a kubeconfig that leads to it."""
    with_machine_sets(after_osm(management))
    deploy_as_recorded(management)
    management.kubeconfig(tmp_path / "kubeconfig")


@pytest.mark.usefixtures("cluster_of_osm")
def test_every_command_of_documents_works_in_order_and_prints_what_it_says(fresh_machine: Path) -> None:
    for document in RUN:
        run_commands(document, fresh_machine)
    assert (fresh_machine / "bin" / "osm-gitops").exists()  # what ran was what was installed
    pushed = subprocess.run(
        ["git", "-C", str(fresh_machine / "server" / "platform" / "nodes.git"), "ls-tree", "-r", "--name-only", "main"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    layout = next(block.text for block in blocks(TUTORIAL) if block.text.startswith("clusters/prod/"))
    assert [line for line in pushed.splitlines() if line.startswith("clusters/")] == layout.splitlines()
    nodes = fresh_machine / "work" / "nodes"
    assert "machine-deployment-revision" not in "".join(
        path.read_text("utf-8") for path in (nodes / "clusters").rglob("*.yaml")
    )
    assert "last-applied" not in "".join(path.read_text("utf-8") for path in (nodes / "pools").rglob("*.yaml"))


def run_commands(document: Path, fresh_machine: Path) -> None:
    folder = fresh_machine / "work"
    for script, promised in steps(document):
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{script}\npwd >'{fresh_machine}/pwd'"],
            cwd=folder,
            env=environment(fresh_machine),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{script}\n{ran.stdout}\n{ran.stderr}"
        folder = Path((fresh_machine / "pwd").read_text("utf-8").strip())
        assert_printed(promised, f"{ran.stdout}{ran.stderr}")


def assert_printed(promised: list[str], printed: str) -> None:
    """Every promised line was printed, in any place; ``…`` stands for lines that are left out."""
    lines = [line.rstrip() for line in printed.splitlines()]
    for line in promised:
        assert line == "…" or line.rstrip() in lines, f"not printed: {line!r}\n{printed}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_fences_are_of_a_known_language_so_no_command_escapes_the_test(document: Path) -> None:
    found = {block.language for block in blocks(document.read_text("utf-8"))}
    assert found <= (COMMANDS | OTHERS if document in RUN else OTHERS | {"python", "mermaid"})


# --- tables ---


def rows(document: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = document.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_the_table_of_data_is_what_templates_see() -> None:
    shown = {name: row[1].strip("`") for row in rows(PROFILES, "Data") for name in re.findall(r"`(\w+)`", row[0])}
    assert shown == ROOT_TYPES


@pytest.mark.parametrize(("mark", "names"), [("functions", FUNCTIONS), ("refused", REFUSED)])
def test_the_lists_of_functions_are_complete(mark: str, names: dict[str, Any]) -> None:
    listing = PROFILES.split(f"<!-- {mark} -->", 1)[1].split("<!-- end -->", 1)[0]
    assert re.findall(r"`(\w+)`", listing) == sorted(names)


# --- links ---


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_inside_the_project_lead_somewhere(document: Path) -> None:
    text = document.read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        goal = document if not path else document.parent / path
        assert goal.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", goal.read_text("utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}, target
