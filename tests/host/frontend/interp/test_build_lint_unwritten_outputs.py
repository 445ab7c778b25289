"""Kernels that never write to an output: which of them warn, what they say, and how often."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.kernels import ir_of, out, tensor
from tilewright import f32, i32, simt


def forgets(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + w.load())


def forgets_all(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    tl.load_tile_like(x, z)


def writes(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile)
    if tl.block_id(0) == 1:
        w.store(tile)


def hand_over(into: tl.TensorMut, tile: tl.Tile[f32]) -> None:
    into.store(tile)


def writes_elsewhere(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    for output in (z, w):
        hand_over(output, tl.load_tile_like(x, output))


def prints(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    print("one", tl.block_id(0))


def asserts(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    assert tl.block_id(0) < 3


def prints_and_writes(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    print("one", tl.block_id(0))
    w.store(tl.load_tile_like(x, w))


def told(build):
    """The texts of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build()
    assert all(w.category is tw.UnwrittenWarning for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(forgets, "w"), (forgets_all, "z"), (prints_and_writes, "z"), (writes, None),
     (writes_elsewhere, None), (prints, None), (asserts, None)],
)  # fmt: skip
def test_who_is_warned(kernel, name):
    texts = told(lambda: ir_of(kernel, out((4,)), out((4,)), tensor(1)))
    assert [f"never writes to its output `{name}`" in text for text in texts] == [True] * len(texts)
    assert len(texts) == (name is not None)


def test_the_warning_shows_the_parameter():
    (text,) = told(lambda: ir_of(forgets, out((4,)), out((4,)), tensor(1)))
    first, place, _, source, caret, *rest = text.splitlines()
    assert first == "[output-never-written] `forgets` never writes to its output `w`"
    assert f"test_build_lint_unwritten_outputs.py:{forgets.__code__.co_firstlineno}" in place
    assert "def forgets(" in source and caret.index("^") == source.index("w: tl.TensorMut")
    assert rest[-1].strip() == "hint: write w.store(tile), or take it as an input"


def test_one_warning_for_a_kernel_however_often_it_is_compiled():
    kernel = tw.entry(forgets)

    def launches():
        for n in (4, 8, 16):
            z, w = tw.zeros((n,)).sync(), tw.zeros((n,)).sync()
            kernel(z.partition_mut((n,)), w.partition_mut((n,)), np.ones(n, "f4")).sync()

    with tw.device("reference"):
        assert len(told(launches)) == 1


def test_what_constants_decide_is_not_known():
    def kernel(z: tl.TensorMut, w: tl.TensorMut, x: tl.Tensor, *, BOTH: tl.Const[bool]) -> None:
        z.store(tl.load_tile_like(x, z))
        if BOTH:
            w.store(tl.load_tile_like(x, w))

    for both in (False, True):
        assert not told(lambda b=both: ir_of(kernel, out((4,)), out((4,)), tensor(1), BOTH=b))


def test_threads_are_told_how_they_write():
    @simt.kernel
    def sums(out: simt.DisjointSlice[f32], counts: simt.DisjointSlice[i32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = 1.0

    given = tw.meta((8,)).borrow_mut(), tw.meta((8,), i32).borrow_mut()
    (text,) = told(lambda: sums.ir(*given))
    assert "`sums` never writes to its output `counts`" in text
    assert "write counts[i] = x" in text


def test_threads_that_have_a_pointer_may_write():
    @simt.kernel(unsafe=True)
    def counts(out: simt.DisjointSlice[i32]) -> None:
        tl.atomic_add(out.elements.at(0), 1)

    with tw.unsafe():
        assert not told(lambda: counts.ir(tw.meta((8,), i32).borrow_mut()))
