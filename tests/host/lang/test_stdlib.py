"""What the standard library promises as a whole; tests/cpu/language has what each function does."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from support.loops import for_each
from tilewright import f32
from tilewright.base.errors import CompileError, PaddingWarning
from tilewright.lang.marker import composed_body

sys.path.insert(0, str(ROOT / "tools"))
import reference

FUNCTIONS = {f.__name__: f for f in reference.functions(reference.STDLIB)}


def test_every_function_is_exported():
    exported = {n for n in tl.__all__ if composed_body(getattr(tl, n)) is not None}
    assert exported == set(FUNCTIONS)
    assert all(getattr(tl, name) is function for name, function in FUNCTIONS.items())


@for_each(FUNCTIONS)
def test_functions_are_for_kernels(name):
    with pytest.raises(TypeError) as caught:
        FUNCTIONS[name]()
    message, hint = str(caught.value).splitlines()
    assert message == f"tl.{name} can only be used inside a kernel"
    assert "@tw.entry" in hint


@for_each(FUNCTIONS)
def test_functions_are_typed_and_described(name):
    first, *_ = (FUNCTIONS[name].__doc__ or "").splitlines()
    assert first.endswith((".", "..."))
    assert "`" in FUNCTIONS[name].__doc__, "it shows a formula or a call"
    signature = inspect.signature(FUNCTIONS[name])
    assert signature.return_annotation is not signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())


# --- where a kernel calls it -------------------------------------------------------------------


@tw.entry
def ordered(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.sort(tl.silu(tl.load_tile_like(x, z))))


@tw.entry
def normalized(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.softmax(tl.load_tile_like(x, z)))


@tw.entry
def too_deep(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.var(tl.load_tile_like(x, z), 3))


def compiled(kernel):
    return kernel.inspect(tw.meta((8,)).partition_mut((4,)), tw.meta((8,)), device="cpu")


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.__wrapped__)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_errors_point_at_the_call():
    """Also where one function of the library calls another."""
    with pytest.raises(CompileError) as caught:
        compiled(too_deep)
    span = caught.value.span
    assert (span.file.name, span.line) == (__file__, line_of(too_deep, "tl.var"))
    assert span.caller is None
    assert "lang/stdlib/" not in str(caught.value)


def test_warnings_point_at_the_call():
    with pytest.warns(PaddingWarning) as caught:
        compiled(normalized)
    assert caught[0].filename == __file__
    assert caught[0].lineno == line_of(normalized, "tl.softmax")


def test_every_op_stands_at_the_call():
    text = str(compiled(ordered))
    assert "reduce" in text
    assert __file__ in text
    assert "lang/stdlib/" not in text


def test_launches_compare_only_what_the_kernel_reads(monkeypatch):
    """Names of the library are settled: no launch asks whether they have changed."""
    with tw.device("reference"):
        x = tw.asarray(np.array([3, 1, 2, 0], np.float32))
        z = tw.empty((4,)).sync()
        ordered(z.partition_mut((4,)), x).sync()
        monkeypatch.setattr("tilewright.lang.stdlib.ordering.reduce_min", tl.reduce_max)
        ordered(z.partition_mut((4,)), x).sync()
    got = z.to_numpy()
    assert (got == np.sort(got)).all()


@tw.entry
def by_hand(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 0, keepdims=True))
    z.store(p / tl.reduce_sum(p, 0, keepdims=True))


@tw.entry
def by_library(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.softmax(tl.load_tile_like(x, z, padding=tl.neg_inf)))


def test_a_composed_function_costs_what_its_body_costs():
    first, second = compiled(by_hand)["plan"], compiled(by_library)["plan"]
    assert str(first).replace("by_hand", "") == str(second).replace("by_library", "")
