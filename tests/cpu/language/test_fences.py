"""Kernels touch no byte outside of their tensors, not even one whose value they do not use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from source_tree import ROOT
from support.fences import SIDE

pytestmark = pytest.mark.cpu_alone

OUTSIDE = """
import sys
import tilewright as tw
import tilewright.lang as tl
from support.fences import pytest_configure as put_up_fences
from tilewright import f32, i32

put_up_fences()

@tw.entry(unsafe=True)
def read(z: tl.TensorMut[f32], x: tl.Ptr[f32], n: i32) -> None:
    z.store(tl.gather(x, tl.arange(1) + n))

x, z = tw.ones((64,)).sync(), tw.zeros((1,)).sync()
with tw.unsafe():
    read(z.partition_mut((1,)), x.device_pointer(), int(sys.argv[1])).sync()
print(z.to_numpy())
"""


def run(*command, side):
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": paths, SIDE: side},
    )  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(
    ("side", "suite"), [("end", "kernels"), ("end", "memory"), ("begin", "memory")]
)
def test_tensors_between_fences(side, suite):
    path = f"tests/cpu/language/test_{suite}.py"
    ended = run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "support.fences", path, side=side
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout


@pytest.mark.parametrize(("side", "n"), [("end", 64), ("begin", -1)])
def test_fences_are_felt(tmp_path, side, n):
    program = tmp_path / "outside.py"
    program.write_text(OUTSIDE, encoding="utf-8")
    assert run(str(program), "0", side=side).stdout == "[1.]\n"
    assert run(str(program), str(n), side=side).returncode == -signal.SIGSEGV
