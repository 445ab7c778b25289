"""When kernels are compiled, why again, what of it can be seen, and that threads do not matter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.compile as compiler
import tilewright.lang as tl
from source_tree import ROOT
from support import device_functions
from support.expressions import Output, assert_all, bits_of, output
from tilewright import f16, f32, i32
from tilewright.base.config import override

SCALE = 2.0


@tw.entry
def scaled(out: tl.TensorMut, x: tl.Tensor, *, TIMES: tl.Const[int] = 1) -> None:
    tile = tl.load_tile_like(x, out)
    for _ in tl.static_range(TIMES):
        tile = tile * SCALE
    out.store(tile)


def fresh():
    """The same kernel with a history of its own."""

    @tw.entry
    def again(out: tl.TensorMut, x: tl.Tensor, *, TIMES: tl.Const[int] = 1) -> None:
        tile = tl.load_tile_like(x, out)
        for _ in tl.static_range(TIMES):
            tile = tile * SCALE
        out.store(tile)

    return again


# GPUs have code of its own for memory and rows of multiples of 16 bytes. So that nothing of it
# shows here, outputs have no margins, and no row such a length.


def history(kernel):
    return [c.reason for c in compiler.history(kernel.source)]


def test_what_is_compiled_again(device, rng):
    kernel = fresh()
    x = rng.standard_normal((11, 11)).astype(np.float32)
    with tw.device(device) as found:
        for given, tile, constants in (
            (x, (4, 4), {}),
            (x[:5, :3], (4, 4), {}),  # other extents
            (x[1:, 1:], (4, 4), {}),  # other strides, the same unit axis
            (x, (8, 4), {}),
            (x.astype(np.float64), (4, 4), {}),
            (x, (4, 4), {"TIMES": 3}),
            (x, (4, 4), {"TIMES": 1}),
            (x.T, (4, 4), {}),
        ):
            z = output(given, margin=0)
            kernel(z.cut(*tile), given, **constants).sync()
            assert (z.result() == given * SCALE ** constants.get("TIMES", 1)).all()
    assert history(kernel) == [
        "first launch",
        "out.tile: (4, 4) -> (8, 4)",
        "out.dtype: f32 -> f64; x.dtype: f32 -> f64",
        "constant TIMES: 1 -> 3",
        "x.strides: (?, 1) -> (1, ?)",
    ]
    lines = kernel.explain_recompile().splitlines()
    assert lines[0] == f"1. {found.target}: first launch"
    assert lines[3] == f"4. {found.target}: constant TIMES: 1 -> 3"


def test_a_changed_global_compiles_again(device, rng, monkeypatch):
    kernel = fresh()
    x = rng.standard_normal(9).astype(np.float32)
    with tw.device(device):
        for value in (2.0, 2.0, 3.0, 3.0):
            monkeypatch.setitem(globals(), "SCALE", value)
            z = output(x, margin=0)
            kernel(z.cut(4), x).sync()
            assert (z.result() == x * np.float32(value)).all()
    assert history(kernel) == ["first launch", "`SCALE`, which it captured, has changed"]
    assert "`SCALE`, which it captured, has changed" in kernel.explain_recompile()


def test_a_global_of_another_module_counts_too(device, monkeypatch):
    @tw.entry
    def mixed(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = tl.load_tile_like(x, out)
        out.store(device_functions.weighted(device_functions.Pair(tile, tile)))

    x = np.ones(4, np.float32)
    with tw.device(device):
        for factor in (3, 5):
            monkeypatch.setattr(device_functions, "FACTOR", factor)
            z = output(x, margin=0)
            mixed(z.cut(4), x).sync()
            assert (z.result() == factor).all()
    assert len(history(mixed)) == 2
    assert "`FACTOR`" in mixed.explain_recompile()


def test_a_changed_closure_compiles_again(device):
    offset = 1.0

    @tw.entry
    def moved(out: tl.TensorMut[f32]) -> None:
        out.store(tl.full((4,), offset))

    with tw.device(device):
        for value in (1.0, 4.0, 4.0):
            offset = value
            z = Output((4,), f32, margin=0)
            moved(z.cut(4)).sync()
            assert (z.result() == value).all()
    assert history(moved) == ["first launch", "`offset`, which it captured, has changed"]


def test_a_changed_helper_compiles_again(device, monkeypatch):
    def double(x):
        return x * 2.0

    def triple(x):
        return x * 3.0

    monkeypatch.setattr(device_functions, "early", double)

    @tw.entry
    def through(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(device_functions.early(tl.load_tile_like(x, out)))

    x = np.ones(4, np.float32)
    with tw.device(device):
        for helper, expected in ((double, 2), (triple, 3)):
            monkeypatch.setattr(device_functions, "early", helper)
            z = output(x)
            through(z.cut(4), x).sync()
            assert (z.result() == expected).all()


def test_eight_threads_compile_once(device, rng):
    kernel = fresh()
    x = rng.standard_normal((33, 17)).astype(np.float32)
    barrier, wrong = threading.Barrier(8), []

    def work():
        with tw.device(device):
            z = output(x)
            barrier.wait()
            kernel(z.cut(8, 8), x).sync()
            if not (z.result() == x * 2).all():
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert history(kernel) == ["first launch"]


def test_eight_threads_hear_of_one_error(device):
    """A compilation that fails fails for all who waited, and can be tried again."""

    @tw.entry
    def wrong(out: tl.TensorMut[f32]) -> None:
        out.store(tl.zeros((4,), i32))

    barrier, errors = threading.Barrier(8), []

    def work():
        with tw.device(device):
            z = Output((4,), f32)
            barrier.wait()
            try:
                wrong(z.cut(4)).sync()
            except tw.CompileError as error:
                errors.append(error.message)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 8 and len(set(errors)) == 1


# --- what can be seen --------------------------------------------------------------------------


def test_compiled_from_descriptions_alone(device, rng):
    """Tensors without memory are enough to compile; the launch finds the code ready."""
    kernel = fresh()
    with tw.device(device) as found:
        out, x = tw.meta((100, 100), f16), tw.meta((100, 100), f16)
        artifact = kernel.compile(out.partition((16, 16)), x, TIMES=2)
        assert artifact.name == "again" and artifact.target.startswith(found.target)
        assert history(kernel) == ["first launch"]
        data = rng.standard_normal((42, 42)).astype(np.float16)
        z = output(data, margin=0)
        kernel(z.cut(16, 16), data, TIMES=2).sync()
        assert (z.result() == data * 4).all()
    assert history(kernel) == ["first launch"]


@pytest.mark.cpu_alone
def test_ir_and_stages(device):
    kernel = fresh()
    with tw.device(device):
        args = tw.meta((64, 64)).partition((8, 16)), tw.meta((64, 64))
        text = kernel.ir(*args)
        stages = kernel.inspect(*args, TIMES=2)
        decisions = kernel.explain(*args)
    assert "again" in text and "load_view" in text and "mulf" in text and "store_view" in text
    assert "(8, 16)" in text
    assert stages["frontend"].count("mulf") == 2
    names = list(stages)
    assert names[0] == "frontend" and "passes" in names and all(stages.values())
    assert ("interpret" in names) == (device == "reference")
    assert any("define" in text for text in stages.values()) == (device == "cpu")
    assert f"again for {device}" in decisions
    assert "x" in decisions and "checked at launch" in decisions


PROGRAM = """
import numpy as np
import tilewright as tw
import tilewright.lang as tl

kernels = tw.exec('''
@tw.entry
def shown(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out)
    total = tl.reduce_sum(tile, 1, keepdims=True)
    out.store(tl.exp(tl.cumsum(tile, 1) / total) @ tile)
''', {"tw": tw, "tl": tl})
x = np.random.default_rng(5).random((96, 32), np.float32)
out = tw.empty((96, 32)).sync()
kernels["shown"](out.partition_mut((32, 32)), x).sync()
print(out.to_numpy().tobytes().hex())
"""


def process(**settings):
    """Run the program above in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_dumps(tmp_path):
    shown = process(TILEWRIGHT_DUMP="frontend,passes")
    assert "=== shown: frontend ===" in shown.stderr and "=== shown: passes ===" in shown.stderr
    assert "canonicalize" not in shown.stderr and "load_view" in shown.stderr
    folder = tmp_path / "dumps"
    kept = process(TILEWRIGHT_DUMP="all", TILEWRIGHT_DUMP_DIR=str(folder))
    assert kept.stderr == "" and kept.stdout == shown.stdout
    names = {p.name for p in folder.iterdir()}
    assert {"shown.frontend.txt", "shown.passes.txt", "shown.fma_contraction.txt"} <= names
    assert all(p.read_text() for p in folder.iterdir())


# --- threads -----------------------------------------------------------------------------------


@tw.entry
def everything(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """Sums, scans, products and functions: whatever an order of additions could change."""
    i, j, _ = tl.get_tile_block_id()
    bm, bn = out.shape
    xs, ys = x.partition((bm, 32)), y.partition((32, bn))
    acc = tl.zeros((bm, bn), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    total = tl.reduce_sum(tl.exp(acc * 0.01), 1, keepdims=True)
    out.store(tl.cumsum(acc, 0) / total + tl.reduce(acc, 1, 0.0, lambda a, b: a + b)[:, None])


def test_results_do_not_depend_on_the_number_of_threads(rng):
    x, y = (
        rng.standard_normal((130, 75)).astype(np.float32),
        rng.standard_normal((75, 97)).astype("f4"),
    )
    results = []
    for threads in (1, 2, 3, 8):
        with override(num_threads=threads):
            for _ in range(2):
                z = Output((130, 97), f32)
                everything(z.cut(16, 32), x, y).sync()
                results.append(z.result())
    for other in results[1:]:
        assert (bits_of(other) == bits_of(results[0])).all()


def test_threads_set_by_the_environment():
    one, two = (process(TILEWRIGHT_NUM_THREADS=n) for n in ("1", "2"))
    assert one.stdout == two.stdout and len(one.stdout) == 96 * 32 * 8 + 1


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_many_small_launches(threads, rng):
    x = rng.standard_normal((64, 8)).astype(np.float32)
    with override(num_threads=threads):
        for n in range(40):
            z = output(x[: n + 1])
            scaled(z.cut(1, 8), x[: n + 1]).sync()
            assert_all([str(n)], [z.result()], [x[: n + 1] * 2])
