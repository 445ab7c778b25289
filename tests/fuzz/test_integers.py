"""Integers that nobody guards: no kernel traps, and all devices agree."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fuzz.integers import WAYS
from source_tree import ROOT
from support import tiers

PROGRAMS = tiers.count(quick=4, full=10)


@pytest.mark.cpu_alone
@pytest.mark.thinned
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("way", WAYS)
def test_nothing_traps(way, part):
    command = [sys.executable, "-m", "fuzz.integers", way, str(1000 * part), str(PROGRAMS)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=600
    )
    shown = done.stdout[done.stdout.rfind("\nseed ") :]
    assert done.returncode == 0, f"ended with {done.returncode}\n{shown}\n{done.stderr[-3000:]}"
