"""Notebooks: cells run in one namespace, twice each; results are kept where notebooks keep them."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import tilewright as tw
from ownership.kernels import neg


class Notebook:
    """Runs cells as IPython does: the last expression is kept in `_` and `Out`, errors are kept."""

    def __init__(self):
        self.names = {"tw": tw, "np": np, "neg": neg, "Out": {}, "s": (2, 2), "_": None}
        self.count = 0
        self.errors = []
        self.run("x = tw.from_numpy(np.arange(16, dtype='f4').reshape(4, 4)).sync()")
        self.run("z = tw.zeros((4, 4)).sync()")

    def run(self, cell):
        *body, last = cell.split("\n")
        self.count += 1
        exec("\n".join(body), self.names)
        try:
            value = eval(last, self.names)
        except SyntaxError:
            exec(last, self.names)
        else:
            self.names["_"] = self.names["Out"][self.count] = value

    def fail(self, cell, kind, match=None):
        """Run a cell that raises; keep the traceback, as a notebook does for its debugger."""
        with pytest.raises(kind, match=match) as caught:
            self.run(cell)
        self.errors.append(caught.value)
        sys.last_value = caught.value

    def z(self):
        return self.names["z"].to_numpy()

    def x(self):
        return self.names["x"].to_numpy()


@pytest.fixture
def notebook():
    with tw.device("reference"):
        yield Notebook()
    sys.last_value = None


CELLS = {
    "in place": "neg(z.partition_mut(s), x).sync()",
    "taken and rebound": "z = neg(z.partition(s), x).out().sync()",
    "a view shown, then a write": "z[:2]\nneg(z.partition_mut(s), x).sync()",
    "a view kept, then a write": "v = z[:2]\nneg(z.partition_mut(s), x).sync()",
    "a copy kept, then a write": "a = z.to_numpy()\nneg(z.partition_mut(s), x).sync()",
    "an ending forgotten": "op = neg(z.partition_mut(s), x)\nop.close()",
    "a partition kept": "p = z.partition_mut(s)\nneg(p, x).sync()",
    "parts kept": "m = z.borrow_mut()\na, b = m[:2].partition(s), m[2:].partition(s)",
    "written from the host": "with z.borrow_mut().numpy() as a: a[:] = 5",
    "an Arc and back": "arc = tw.Arc(z)\nz = arc.unwrap_arc()",
    "the tensor itself shown": "z",
    "its picture shown": "repr(z), z.shape",
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_may_be_run_again(cell, notebook):
    for _ in range(3):
        notebook.run(CELLS[cell])
    notebook.run("neg(z.partition_mut(s), x).sync()")
    np.testing.assert_array_equal(notebook.z(), -notebook.x())


def test_results_kept_in_a_list(notebook):
    notebook.run("kept = [neg(z.partition_mut(s), x).sync() for _ in range(3)]")
    notebook.run("kept += [z[:1], z.reshape(16), z.partition_mut(s), z.borrow_mut()]")
    notebook.run("neg(z.partition_mut(s), x).sync()")
    np.testing.assert_array_equal(notebook.z(), -notebook.x())


def test_a_cell_that_forgets_its_ending_warns(notebook):
    notebook.run("op = neg(z.partition_mut(s), x)")
    with pytest.warns(RuntimeWarning, match=r"was never run"):
        notebook.run("op = None")
    gc.collect()
    notebook.run("neg(z.partition_mut(s), x).sync()")


@pytest.mark.parametrize(
    "take", ["z.partition(s)", "z.partition_mut(s)", "tw.Arc(z).try_partition(s)"]
)
def test_a_cell_with_a_mistake_is_corrected_and_run_again(take, notebook):
    for _ in range(2):
        notebook.fail(f"neg({take}, tw.zeros((4, 4), tw.i64).sync()[0]).sync()", tw.Error)
        notebook.fail(f"neg({take}, 'x').sync()", TypeError)
        notebook.fail(f"neg({take})", TypeError)
    notebook.run(f"z = neg({take}, x).out().sync()")
    np.testing.assert_array_equal(notebook.z(), -notebook.x())


def test_an_array_shown_is_kept_by_the_notebook(notebook):
    notebook.run("np.asarray(z)")
    for _ in range(2):
        text = r"a NumPy view of it is alive(.|\n)*Out\[\.\.\.\] may hold it"
        notebook.fail("neg(z.partition_mut(s), x).sync()", tw.BorrowError, text)
    notebook.names["Out"].clear()
    notebook.names["_"] = None
    notebook.run("neg(z.partition_mut(s), x).sync()")


def test_an_arc_shown_is_kept_by_the_notebook(notebook):
    notebook.run("arc = tw.Arc(z)")
    notebook.run("arc.clone()")
    notebook.fail("arc.try_partition(s)", tw.BorrowError, r"notebook's Out\[\.\.\.\]")
    notebook.names["Out"].clear()
    notebook.names["_"] = None
    notebook.run("neg(arc.try_partition(s), x).sync()")


def test_a_traceback_holds_memory_and_locks_nothing(notebook):
    notebook.fail("t = tw.zeros((4, 4)).sync()\nneg(t.partition(s), t)", tw.BorrowError)
    gone = weakref.ref(notebook.names["t"].region.storage)
    notebook.run("neg(t.partition_mut(s), x).sync()")
    notebook.fail("t = tw.zeros((4, 4)).sync()\nneg(t.partition(s), t)", tw.BorrowError)
    notebook.errors.clear()
    sys.last_value = notebook.names["_"] = None
    notebook.names["Out"].clear()
    gc.collect()
    assert gone() is None
