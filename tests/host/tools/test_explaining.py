"""`tilewright explain` on a file of kernels."""

from __future__ import annotations

import pytest

from tilewright.tools.command import main

FILE = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor, a: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * a)

t = tw.meta((64,))
scale.declare(t.partition_mut((8,)), t, 1.0)
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(FILE)
    return str(file)


def test_what_kernel_explain_says(path, capsys):
    assert main(["explain", path]) == 0
    text = capsys.readouterr().out
    assert text.startswith("scale for cpu")
    assert "ceil_div(z.shape[0], 8) <= ceil_div(x.shape[0], 8)" in text


def test_a_stage(path, capsys):
    assert main(["explain", path, "--stage", "frontend"]) == 0
    assert capsys.readouterr().out.startswith("kernel scale(")
    assert main(["explain", path, "--stage", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("scale: frontend, ") and "llvm" in listed


def test_a_stage_that_is_none(path, capsys):
    assert main(["explain", path, "--stage", "sass"]) == 2
    assert "no stage 'sass', only frontend," in capsys.readouterr().err


def test_an_architecture_that_is_none(path, capsys):
    assert main(["explain", path, "--arch", "sm_75"]) == 1
    assert "sm_75" in capsys.readouterr().err


def test_a_kernel_that_does_not_compile(tmp_path, capsys):
    file = tmp_path / "wrong.py"
    file.write_text(FILE.replace("* a)", "* nothing)"))
    assert main(["explain", str(file)]) == 1
    error = capsys.readouterr().err
    assert "wrong.py:7" in error and "Traceback" not in error
