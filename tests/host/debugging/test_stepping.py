"""A real pdb, and what it shows of kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

PROGRAM = """
import sys
from typing import NamedTuple
import numpy as np
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, simt

class Pair(NamedTuple):
    first: object
    second: object

def inner(t, by):
    u = t * by
    return u + 1.0

@tw.entry
def kernel(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    t = tl.load_tile_like(x, out)
    pair = Pair(t, 2)
    acc = t * 0.0
    for k in range(n):
        acc = acc + inner(t, 2.0)
    if n > 99:
        acc = acc * 3.0
    out.store(acc)

@simt.kernel(block=32)
def threads(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    total = simt.block_sum(x[i])
    double = total * 2.0
    if i < len(z):
        z[i] = double

@tw.entry
def stopping(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    i = tl.block_id(0)
    if i == 2:
        breakpoint()
    t = tl.load_tile_like(x, out)
    out.store(t)

x = np.arange(16, dtype=np.float32)
if sys.argv[1] == "tile":
    z = tw.zeros((16,)).sync()
    tw.debug(kernel, block=1)(z.partition_mut((4,)), x, 2).sync()
    after = "after"
    print("RESULT", z.to_numpy().tolist() == [2 * (2 * v + 1) for v in range(16)], after)
elif sys.argv[1] == "all":
    z = tw.zeros((16,)).sync()
    tw.debug(kernel, block=None)(z.partition_mut((8,)), x, 1).sync()
elif sys.argv[1] == "simt":
    z = tw.zeros((64,)).sync()
    tw.debug(threads, block=1, thread=5)(z.borrow_mut(), np.ones(64, np.float32)).sync()
    print("RESULT", z.to_numpy().tolist() == [64.0] * 64)
else:
    with tw.device("reference"):
        z = tw.zeros((16,)).sync()
        stopping(z.partition_mut((4,)), x).sync()
        print("RESULT", z.to_numpy().tolist() == x.tolist())
"""


@pytest.fixture
def pdb(tmp_path):
    """Run the program under commands of pdb: what was shown for each."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def run(which, *commands):
        environment = {**os.environ, "PYTHONBREAKPOINT": "", "NO_COLOR": "1"}
        ended = subprocess.run(
            [sys.executable, str(path), which], input="".join(f"{c}\n" for c in commands),
            capture_output=True, text=True, timeout=120, env=environment, check=False,
        )  # fmt: skip
        shown = ended.stdout.replace(str(path), "program.py").split("(Pdb) ")
        assert "Traceback" not in ended.stderr or "BdbQuit" in ended.stderr, ended.stderr
        return [text.strip() for text in shown]

    return run


def place(text):
    """Return the function and the statement where pdb is."""
    found = re.search(r"> program\.py\(\d+\)(\S+?)\(\).*\n-> (.*)", text)
    return found and found.groups()


def test_it_stops_at_the_first_line_and_goes_line_by_line(pdb):
    shown = pdb("tile", *["n"] * 7, "p k, acc.max()", "c")
    assert [place(text) for text in shown[:8]] == [
        ("kernel", "t = tl.load_tile_like(x, out)"), ("kernel", "pair = Pair(t, 2)"),
        ("kernel", "acc = t * 0.0"), ("kernel", "for k in range(n):"),
        ("kernel", "acc = acc + inner(t, 2.0)"), ("kernel", "for k in range(n):"),
        ("kernel", "acc = acc + inner(t, 2.0)"), ("kernel", "for k in range(n):"),
    ]  # fmt: skip
    assert shown[8] == "(np.int32(1), np.float32(30.0))"
    assert "RESULT True after" in shown[-1]


def test_step_goes_into_functions_and_up_to_their_callers(pdb):
    commands = ["n"] * 4 + ["s", "s", "p t, by", "s", "p u", "up", "p acc", "down", "r", "c"]
    shown = pdb("tile", *commands)
    assert "--Call--" in shown[5] and place(shown[5]) == ("inner", "def inner(t, by):")
    assert place(shown[6]) == ("inner", "u = t * by")
    assert shown[7] == "(array([4., 5., 6., 7.], dtype=float32), 2.0)"
    assert place(shown[8]) == ("inner", "return u + 1.0")
    assert shown[9] == "array([ 8., 10., 12., 14.], dtype=float32)"
    assert place(shown[10]) == ("kernel", "acc = acc + inner(t, 2.0)"), "up is the caller"
    assert shown[11] == "array([0., 0., 0., 0.], dtype=float32)"
    assert "--Return--" in shown[13] and "inner()->array([ 9., 1" in shown[13]


def test_conditional_breakpoints(pdb):
    shown = pdb("tile", "b 23, k == 1", "c", "p int(k), acc.tolist()", "c")
    assert place(shown[2]) == ("kernel", "acc = acc + inner(t, 2.0)")
    assert shown[3] == "(1, [9.0, 11.0, 13.0, 15.0])"
    assert "RESULT True" in shown[4]


@pytest.mark.full
def test_breakpoints_by_condition_inside_of_functions(pdb):
    shown = pdb("tile", "b 15, u.max() > 10", "c", "p u.max()", "c", "c")
    assert place(shown[2]) == ("inner", "return u + 1.0") == place(shown[4])
    assert shown[3] == "np.float32(14.0)"


@pytest.mark.full
def test_variables_are_arrays_that_cannot_be_written(pdb):
    shown = pdb(
        "tile", "n", "n", "p sorted(locals())", "p x.shape, out, pair.second, block",
        "p type(t), pair.first.tolist()", "p out.flags.writeable, t.flags.writeable", "c",
    )  # fmt: skip
    assert shown[3] == "['n', 'out', 'pair', 't', 'x']"
    assert shown[4] == "((16,), array([0., 0., 0., 0.], dtype=float32), 2, (1, 0, 0))"
    assert shown[5] == "(<class 'numpy.ndarray'>, [4.0, 5.0, 6.0, 7.0])"
    assert shown[6] == "(False, False)"


@pytest.mark.full
def test_behind_the_last_line_is_the_program(pdb):
    shown = pdb("tile", "b 26", "c", "n", "n", "n", "p after", "c")
    assert place(shown[2]) == ("kernel", "out.store(acc)")
    assert "--Return--" in shown[3]
    assert place(shown[4]) == ("<module>", 'after = "after"')
    assert shown[6] == "'after'"


@pytest.mark.full
def test_all_blocks_in_order(pdb):
    shown = pdb("all", "p block", "c", "p block", "c")
    assert shown[1] == "(0, 0, 0)"
    assert place(shown[2]) == ("kernel", "t = tl.load_tile_like(x, out)")
    assert shown[3] == "(1, 0, 0)"


def test_one_thread_past_barriers(pdb):
    shown = pdb("simt", "p block, thread", "n", "n", "p i, total", "n", "n", "p double", "c")
    assert shown[1] == "((1, 0, 0), (5, 0, 0))"
    assert place(shown[3]) == ("threads", "double = total * 2.0")
    assert shown[4] == "(np.int32(37), np.float32(32.0))"
    assert shown[7] == "np.float32(64.0)"
    assert "RESULT True" in shown[8]


@pytest.mark.full
def test_breakpoint_in_the_kernel(pdb):
    shown = pdb("stop", "p block, int(i)", "n", "p t.tolist()", "c")
    assert place(shown[0])[0] == "stopping"
    assert shown[1] == "((2, 0, 0), 2)"
    assert shown[-1] == "RESULT True"


@pytest.mark.full
def test_quitting_ends_the_launch(pdb):
    assert "RESULT" not in pdb("tile", "q")[-1]


# --- without a debugger --------------------------------------------------------------------------


@tw.entry
def contracted(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    t = tl.load_tile_like(x, z)
    product = t * tl.load_tile_like(y, z)
    z.store(product + t)


def test_looking_changes_no_number(monkeypatch):
    """A product that a debugger looks at is still fused with the sum."""
    monkeypatch.setattr(sys, "breakpointhook", lambda: None)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 4096)).astype(np.float32)
    results = []
    for kernel in (contracted, tw.debug(contracted)):
        z = tw.empty((4096,)).sync()
        kernel(z.partition_mut((1024,)), x, y).sync()
        results.append(z.to_numpy())
    assert (results[0] == results[1]).all()
    assert (results[0] != x * y + x).any(), "otherwise this test would tell nothing"


def test_what_is_no_kernel():
    with pytest.raises(TypeError, match="takes a kernel, not function"):
        tw.debug(lambda: None)


def test_a_graph_has_no_place_for_a_debugger(monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", lambda: None)
    z, x = tw.empty((8,)).sync(), np.ones(8, np.float32)
    launch = tw.debug(contracted)(z.partition_mut((8,)), x, x)
    with pytest.raises(tw.ContextError, match="cannot be recorded"):
        launch.graph()
