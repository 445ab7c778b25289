"""A program with two kernels, and what the explorer knows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.tools.command import main
from tilewright.tools.explore.model import described
from tilewright.tools.explore.recording import Launched, launches

PROGRAM = '''
import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt


def twice(t):
    return t * 2.0


@tw.entry
def scale(out: tl.TensorMut[f32, tl.Dyn, tl.Dyn], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    """</script><script>alert("x & y")</script>"""
    t = tl.load_tile_like(x, out)
    out.store(twice(t))


@simt.kernel
def shifted(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i] + 1.0


x = np.arange(7 * 9, dtype=np.float32).reshape(7, 9)
for rows in (3, 7):  # one specialization: the larger one is kept
    out = tw.empty((rows, 9)).sync()
    scale(out.partition_mut((4, 4)), x[:rows]).sync()
z = tw.zeros((300,)).sync()
shifted(z.borrow_mut(), np.zeros(300, np.float32)).sync()
print("done")
'''


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("explored") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="session")
def launched(program) -> list[Launched]:
    with tw.device("cpu"):
        return launches(program, None)


@pytest.fixture(scope="session")
def data(program, launched) -> dict[str, Any]:
    return described(program, launched, ["cpu"])


@pytest.fixture(scope="session")
def exported(program, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "deep" / "page.html"
    assert main(["explore", str(program), "--arch", "none", "--export", str(path)]) == 0
    return path
