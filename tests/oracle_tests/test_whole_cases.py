"""Random whole cases through the command line: released profiles, every provider, settings and annotations mixed.

What templates make is compared with Go; the rest must hold by itself: an exit code and a sentence, documents that
are JSON or YAML, and nothing left to do after an apply.
"""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import yaml

from osm_gitops.render import config
from osm_gitops.templates.assembly import CompiledHalf, compile_go_half
from osm_gitops.templates.engine import Engine
from tests.cli.running import osm_gitops
from tests.conformance.test_cases import _flags, render_case
from tests.conformance_data import CONFORMANCE, case_names, load_case
from tests.oracle_tests.comparison import Half, compare

pytestmark = pytest.mark.oracle
