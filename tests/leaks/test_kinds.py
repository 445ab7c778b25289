"""No kind of launch leaves memory, objects or references behind.

PYTHONPATH=src:tests python -m leaks --launches 100000 asks for more, each kind in its own process.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tilewright as tw
from leaks.counting import grown
from leaks.kinds import KINDS
from tilewright.devices import registry

pytestmark = pytest.mark.cpu_alone


@pytest.mark.parametrize("kind", KINDS)
def test_no_launch_leaves_anything_behind(kind, pytestconfig, monkeypatch):
    monkeypatch.setattr(registry._Gpus, "found", registry._Gpus.found)  # kinds may set it
    with tw.device("cpu"):
        assert grown(KINDS[kind](), pytestconfig.getoption("--launches")) is None


def leaking(size):
    kept = []
    return lambda: kept.append(bytearray(size))


@pytest.mark.skipif(not sys.getallocatedblocks(), reason="another allocator counts no blocks")
@pytest.mark.parametrize("size", [1, 1000])
def test_what_is_left_behind_is_found(size):
    more = grown(leaking(size), 300)
    assert more is not None and more.blocks >= 300


def test_pages_that_python_does_not_count_are_found():
    """As native code would lose them: by malloc."""
    text = (
        "import ctypes\nfrom leaks.counting import grown\n"
        "lose = ctypes.CDLL(None).malloc\nprint(grown(lambda: lose(512), 10_000))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    ended = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert "kilobytes=" in ended.stdout, ended.stderr
