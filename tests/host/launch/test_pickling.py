"""Kernels in other processes: their own where they have it, and rebuilt where they have not."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from tilewright import f32
from tilewright.launch import pickling

PROGRAM = """
import sys, pickle
import numpy as np
import tilewright as tw
kernel = pickle.loads(sys.stdin.buffer.read())
x = tw.asarray(np.arange(5, dtype=np.float32))
with tw.device("reference"):
    print(kernel(tw.empty((5,)).partition((4,)), x.to("reference")).out().sync().to_numpy())
assert pickle.loads(pickle.dumps(kernel)) is not None
"""

MAIN = """
import pickle, sys
import tilewright as tw, tilewright.lang as tl
from tilewright import f32
FACTOR, SIZES = 3.0, (1, 2)
x = tw.ones  # a name that a parameter of the kernel has too
def helped(tile):
    return tile * FACTOR
@tw.entry(unsafe=False)
def scale(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    y = helped(tl.load_tile_like(x, out))
    for n in SIZES:
        y = y + float(n)
    out.store(y)
sys.stdout.buffer.write(pickle.dumps(scale))
"""


def elsewhere(data: bytes) -> str:
    """What a process prints that cannot import the kernel."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=data, capture_output=True, check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@tw.entry
def doubled(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) * 2.0)


def test_a_kernel_of_main_travels_with_what_it_uses(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(MAIN, encoding="utf-8")
    made = subprocess.run([sys.executable, program], capture_output=True, check=True)
    program.unlink()  # as on another machine
    assert elsewhere(made.stdout) == "[ 3.  6.  9. 12. 15.]"


def test_a_kernel_of_a_function_keeps_its_local_names():
    width, shift = 4.0, np.float32(1)

    @tw.entry
    def moved(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.load_tile_like(x, out) * width + float(shift))

    data = pickle.dumps(moved)
    again = pickle.loads(data)
    assert again is not moved and pickle.loads(data) is again  # compiled once, however often
    with tw.device("reference"):
        out = again(tw.empty((3,)).partition((4,)), tw.ones((3,))).out().sync()
    assert (out.to_numpy() == 5).all()
    assert again.__qualname__ == moved.__qualname__


def test_the_own_kernel_of_a_process_comes_first(monkeypatch):
    module = type(pytest)("kernels_of_this_test")
    module.doubled = doubled
    monkeypatch.setitem(sys.modules, "kernels_of_this_test", module)
    monkeypatch.setattr(doubled, "__module__", "kernels_of_this_test")
    data = pickle.dumps(doubled)
    assert pickle.loads(data) is doubled

    @tw.entry
    def other(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.load_tile_like(x, out) * 3.0)

    module.doubled = other  # an older version of the module, say
    again = pickle.loads(data)
    assert again is not other
    with tw.device("reference"):
        out = again(tw.empty((3,)).partition((4,)), tw.ones((3,))).out().sync()
    assert (out.to_numpy() == 2).all()


def test_without_source_and_module_it_says_so():
    with pytest.raises(tw.KernelCacheError, match="`nothing` of the module 'no_such'") as caught:
        pickling.restore("no_such", "nothing", "", None)
    assert "module that all processes import" in caught.value.hint


def test_names_that_cannot_be_pickled(monkeypatch):
    lock = __import__("threading").Lock()

    def kernel():
        @tw.entry
        def strange(out: tl.TensorMut[f32]) -> None:
            out.store(0.0 if lock else 1.0)

        return strange

    made = kernel()
    monkeypatch.setattr(made, "__module__", "somewhere")
    assert made.__reduce__()[1][-1] is None  # whoever imports the module does not need it
    monkeypatch.setattr(made, "__module__", "__main__")
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(made)


def test_copies_are_the_kernel():
    assert copy.copy(doubled) is doubled and copy.deepcopy([doubled])[0] is doubled


def test_a_kernel_without_a_decorator_says_so():
    def plain(out: tl.TensorMut[f32]) -> None:
        out.store(0.0)

    with pytest.raises(tw.KernelCacheError, match="cannot be rebuilt"):
        pickle.loads(pickle.dumps(tw.entry(plain)))
