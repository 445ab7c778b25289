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
    assert "x.shape[0] == z.shape[0]" in text


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


PROGRAM = """
import numpy as np
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def bad(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))

@tw.entry
def good(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2)

z = tw.zeros((8, 8)).sync()
try:
    bad(z.partition_mut((8, 8)), np.ones(8, "f4")).sync()
except tw.CompileError:
    print("caught")
"""
LAUNCHES = """
for rows in (8, 9, 10):
    z = tw.zeros((rows, 8)).sync()
    good(z.partition_mut((8, 8)), np.ones((rows, 8), "f4")).sync()
"""


def test_a_launch_that_the_program_caught_is_left_out(tmp_path, capsys):
    """And what several launches have in common is told once."""
    file = tmp_path / "kernels.py"
    file.write_text(PROGRAM + LAUNCHES)
    assert main(["explain", str(file), "--launched"]) == 0
    said = capsys.readouterr()
    assert said.out.count("good for cpu") == 1 and "bad for" not in said.out
    left_out = "left out: a launch of bad that failed in the program, too: `x` and `z` differ in"
    assert said.err.count(left_out) == 1


def test_where_no_launch_went_well(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(PROGRAM)
    assert main(["explain", str(file), "--launched"]) == 2
    assert "went well" in capsys.readouterr().err


def test_what_fails_elsewhere_alone_is_no_launch_that_was_caught(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(PROGRAM + LAUNCHES)
    assert main(["explain", str(file), "--launched", "--arch", "sm_75"]) == 1
    assert "sm_75" in capsys.readouterr().err
