"""What cells of a notebook show, in a real IPython."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright

CELLS = Path(__file__).parents[1] / "support" / "cells.py"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("IPython") is None, reason="IPython is not installed"
)

SETUP = """
import numpy as np, tilewright as tw, tilewright.lang as tl
a, b = np.ones((2, 100, 100), "f4")
z = tw.zeros((100, 100)).sync()
"""
KERNEL = """
@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))
"""
WRONG = """
@tw.entry
def wrong(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.nothing(x))
"""
SHOWN = {
    "result": "add(z.partition_mut((64, 64)), a, b).sync()",
    "small result": "add(tw.empty((2,)).partition((2,)), b[0, :2], b[0, :2]).sync()",
    "tuple": "(1, a[:1, :2])",
    "tensor": "tw.ones((2, 2)).sync()",
    "large": "z",
    "partition": "z.partition_mut((64, 64))",
    "mapped": "z.partition_mut((64, 64)).map((1, 1))",
    "op": "tw.ones((2,)).then(lambda t: tw.value(t))",
    "arc": "tw.Arc(tw.ones((2,)).sync())",
    "stream": "tw.default_device().streams()[0]",
    "device": "tw.default_device()",
    "graph": "add(tw.empty((4,)).partition((4,)), np.ones(4, 'f4'), np.ones(4, 'f4')).graph()",
    "future": "tw.ones((2,)).into_future()",
    "kernel": "add",
    "tuned": "tw.autotune(tw.search(tile=[(32, 32), (64, 64)]))(add)",
    "explain": "add.explain()",
    "checks": "add.checks()",
    "ir": "add.ir(z.partition_mut((64, 64)), a, b)",
    "trace": "with tw.trace() as t:\n    tw.ones((2,)).sync()\nt",
    "timing": "tw.bench(lambda: tw.ones((2,)), rounds=2)",
    "comparison": "tw.bench({'a<b': lambda: tw.ones((2,)), 'c': lambda: tw.ones((3,))}, rounds=2)",
    "borrow": "z.borrow_mut()[:2]",
    "mesh": "tw.Mesh(['cpu'] * 2, {'rows': 2})",
    "sharded": "tw.shard(np.ones((4, 2), 'f4'), tw.Mesh(['cpu'] * 2)).sync()",
    "space": "tw.search(tile=[(32, 32), (64, 64)])",
}
MISTAKES = {
    "compiling": "wrong(z.partition_mut((64, 64)), a).sync()",
    "calling": "add(z, a, b)",
    "moved": "p = z.partition((64, 64)); z.to_numpy()",
}
LAST = {"export": "q = tw.ones((4,)).sync()\nnp.asarray(q)", "refused": "tw.fill(q, 2.0).sync()"}


@pytest.fixture(scope="module")
def shown():
    named = {"": SETUP, "define": KERNEL, "define wrong": WRONG, **SHOWN, **MISTAKES, **LAST}
    done = subprocess.run(
        [sys.executable, "-P", CELLS], input=json.dumps(list(named.values())), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    numbers = {name: i for i, name in enumerate(named, 1)}
    cells = json.loads(done.stdout.splitlines()[-1])
    return dict(zip(named, cells, strict=True)), numbers


def test_cells_run(shown):
    cells, _ = shown
    failed = {n: c["printed"] for n, c in cells.items() if c["error"]}
    assert failed.keys() == {*MISTAKES, "refused"}, failed


def test_the_result_of_a_launch_shows_no_arrays(shown):
    text = shown[0]["result"]["text"]
    assert text == (
        "(Partition(shape=(100, 100), dtype=f32, tile=(64, 64), grid=(2, 2)),\n"
        " ndarray(shape=(100, 100), dtype=float32),\n"
        " ndarray(shape=(100, 100), dtype=float32))"
    )
    assert "array([1., 1.], dtype=float32)" in shown[0]["small result"]["text"]


def test_other_tuples_are_shown_as_ever(shown):
    assert shown[0]["tuple"]["text"] == "(1, array([[1., 1.]], dtype=float32))"


def test_values_of_tensors(shown):
    cells, _ = shown
    assert cells["tensor"]["text"] == (
        "Tensor([[1., 1.],\n        [1., 1.]], shape=(2, 2), dtype=f32)"
    )
    assert "<pre>[[1., 1.],\n [1., 1.]]</pre>" in cells["tensor"]["html"]
    assert "[2., 2., 2., ..., 2., 2., 2.]" in cells["large"]["html"]


@pytest.mark.parametrize("name", [n for n in SHOWN if n not in ("result", "small result", "tuple")])
def test_everything_has_a_picture(shown, name):
    cell = shown[0][name]
    assert cell["html"], cell["text"]
    assert cell["html"].count("<table") == cell["html"].count("</table>")


def test_pictures_say_what_there_is(shown):
    cells, _ = shown
    assert "<svg" in cells["partition"]["html"] and ">(2, 2)<" in cells["partition"]["html"]
    assert "MappedPartition" in cells["mapped"]["html"]
    assert "Cell In[2]:2" in cells["kernel"]["html"]
    assert "add" in cells["graph"]["html"] and "<svg" in cells["graph"]["html"]
    assert "(64, 64)" in cells["tuned"]["html"]
    assert "a&lt;b" in cells["comparison"]["html"]
    assert ">rows<" in cells["mesh"]["html"] and ">cpu<" in cells["mesh"]["html"]
    assert "[0:2, :]" in cells["sharded"]["html"] and "[2:4, :]" in cells["sharded"]["html"]
    assert cells["space"]["html"].count("Config(") == 2
    assert "\\n" not in cells["explain"]["text"] and cells["explain"]["text"][0] != "'"


@pytest.mark.parametrize("name", MISTAKES)
def test_tracebacks_end_in_the_cell(shown, name):
    cells, numbers = shown
    cell = cells[name]
    assert [f.split(",")[0] for f in cell["frames"]] == [f"Cell In[{numbers[name]}]"]
    assert str(Path(tilewright.__file__).parent) not in cell["printed"]


def test_places_are_cells(shown):
    cells, numbers = shown
    assert f"--> Cell In[{numbers['define wrong']}]:3:13" in cells["compiling"]["error"][1]
    assert f"here: Cell In[{numbers['calling']}]:1: add(z, a, b)" in cells["calling"]["error"][1]


def test_an_export_that_out_keeps_names_the_way_out(shown):
    text = shown[0]["refused"]["error"][1]
    assert "Out[...]" in text
    assert "t = t.dup().sync() continues with a copy" in text


def test_the_way_out_is_one():
    cells = [SETUP, KERNEL, LAST["export"], "q = q.dup().sync()", "tw.fill(q, 2.0).sync()"]
    done = subprocess.run(
        [sys.executable, "-P", CELLS],
        input=json.dumps(cells),
        text=True,
        capture_output=True,
        check=True,
    )
    assert not any(cell["error"] for cell in json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.full
def test_a_kernel_of_jupyter(tmp_path):
    """The same by way of a real Jupyter kernel, and what is awaited there."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    sources = [SETUP, KERNEL, SHOWN["result"], "await tw.ones((2,))", WRONG, MISTAKES["compiling"]]
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, allow_errors=True, timeout=120).execute(cwd=str(tmp_path))
    outputs = [cell.outputs[0] for cell in cells if cell.outputs]
    result, awaited, error = outputs
    assert "ndarray(shape=(100, 100)" in result.data["text/plain"]
    assert "Tensor([1., 1.]" in awaited.data["text/plain"] and "<pre>" in awaited.data["text/html"]
    text = "\n".join(error.traceback)
    assert error.ename == "CompileError" and "Cell In[5]:3:13" in text
    assert str(Path(tilewright.__file__).parent) not in text
