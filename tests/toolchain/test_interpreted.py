"""Kernels of the language as the Tile IR they become, interpreted on a simulated GPU.

No assembler is needed. The quick tier runs the tests of `support/interpreted.py`, the full tier all
of their files.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from source_tree import ROOT
from support import interpreted


@pytest.mark.parametrize("arch", interpreted.PARTS)
def test_language(arch):
    _passes(arch, interpreted.chosen(arch))


@pytest.mark.full
@pytest.mark.parametrize("file", interpreted.files())
def test_all_of_the_language(file):
    _passes("sm_90", [file])


def _passes(arch, tests):
    options = ["-q", "--tb=short", "-n", "0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *interpreted.options(arch), *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
