"""How kernels are written: annotations of every kind, generics, constants, closures, modules."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Literal, NamedTuple, TypeVar, TypeVarTuple

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import device_functions
from support.device_functions import halves, weighted
from support.expressions import NAMES, Output, assert_all, output
from tilewright import bf16, f16, f32, f64, i8, i32, i64, u8, u32

E = TypeVar("E")
N = TypeVar("N")
M = TypeVar("M")
S = TypeVarTuple("S")


def run_kernel(device, kernel, tile, *inputs, dtype=f32, shape=None, **constants):
    """Launch a kernel with one output, shaped like its first input."""
    with tw.device(device):
        z = Output(np.shape(inputs[0]) if shape is None else shape, dtype)
        kernel(z.cut(*tile), *inputs, **constants).sync()
    return z.result()


# --- generics ----------------------------------------------------------------------------------


@tw.entry
def of_any_rank(out: tl.TensorMut[E, *S], x: tl.Tensor[E], y: tl.Tensor[E]) -> None:
    """One kernel for all ranks and element types; shapes are values."""
    tile = tl.load_tile_like(x, out) + tl.load_tile_like(y, out)
    total = out.rank + len(x.shape)
    out.store(tile * tl.full(out.shape, total // 2, out.dtype))


@pytest.mark.parametrize("dtype", [f32, f64, i32, i64, u8, f16], ids=str)
def test_rank_generic_kernels(device, dtype, rng):
    for shape in ((17,), (5, 9), (3, 5, 7), (2, 3, 2, 5)):
        x, y = rng.integers(0, 20, (2, *shape)).astype(dtype.np)
        tile = (2, 2, 4, 8)[-len(shape) :]
        got = run_kernel(device, of_any_rank, tile, x, y, dtype=dtype)
        assert_all([str(shape)], [got], [((x + y) * len(shape)).astype(dtype.np)])


@tw.entry
def same_shapes(out: tl.TensorMut[f32], x: tl.Tensor[f32, *S], y: tl.Tensor[f32, *S]) -> None:
    out.store(tl.load_tile_like(x, out) * tl.load_tile_like(y, out))


def test_shapes_linked_by_a_pack(device, rng):
    x, y = rng.standard_normal((2, 5, 6)).astype(np.float32)
    assert_all(["product"], [run_kernel(device, same_shapes, (4, 4), x, y)], [x * y])
    with pytest.raises(tw.ShapeError, match="`S` of `same_shapes` has two shapes"):
        run_kernel(device, same_shapes, (4, 4), x, y[:4])


@tw.entry
def linked(
    out: tl.TensorMut[E, M, N], x: tl.Tensor[E, tl.Dyn, N], y: tl.Tensor[E, M, tl.Dyn], by: E
) -> None:
    """M and N are extents of the tile of out, and constants in the body."""
    i, j, _ = tl.get_tile_block_id()
    a = x.load_tile((1, N), [i, 0])
    b = y.load_tile((M, 1), [0, j])
    out.store((a + b) * by)


def test_linked_parameters(device, rng):
    for dtype in (f32, i32):
        x, y = (
            rng.integers(0, 9, (1, 8)).astype(dtype.np),
            rng.integers(0, 9, (4, 1)).astype(dtype.np),
        )
        got = run_kernel(device, linked, (4, 8), x, y, 3, dtype=dtype, shape=(4, 8))
        assert_all([str(dtype)], [got], [(x + y) * dtype.np.type(3)])
    with pytest.raises(tw.ShapeError, match="`E` of `linked` has two element types"):
        run_kernel(device, linked, (4, 8), x, y.astype(np.int64), 3, dtype=i32, shape=(4, 8))
    with pytest.raises(tw.ShapeError, match="`N` of `linked` has two extents"):
        run_kernel(device, linked, (4, 8), x[:, :5], y, 3, dtype=i32, shape=(4, 8))


@tw.entry
def fixed(out: tl.TensorMut[f32, Literal[4], Literal[8]], x: tl.Tensor[f32, Literal[6], tl.Dyn]):
    assert x.shape[0] == 6
    out.store(tl.load_tile_like(x, out) + float(x.shape[0]))


def test_fixed_extents(device, rng):
    x = rng.standard_normal((6, 11)).astype(np.float32)
    assert_all(["sum"], [run_kernel(device, fixed, (4, 8), x)], [x + 6])
    with pytest.raises(tw.ShapeError, match="axis 0 of `x` of `fixed` has a fixed extent"):
        run_kernel(device, fixed, (4, 8), x[:5])


@tw.entry
def by_hand(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """BM and BN are given by `.generics(...)` alone."""
    rows, columns = tl.Tile, tl.Tensor  # names of the language are values like any other
    assert rows is not columns
    tile = x.load_tile((M, N), [0, 0])
    out.store(tile.reshape(out.shape))


def test_generics_by_hand(device, rng):
    x = rng.standard_normal((4, 8)).astype(np.float32)
    with tw.device(device):
        z = Output((32,), f32)
        by_hand(z.cut(32), x).generics(M=4, N=8).sync()
    assert_all(["flat"], [z.result()], [x.reshape(32)])


# --- constants ---------------------------------------------------------------------------------


class Mode(Enum):
    """An enumeration as a constant."""

    DOUBLE = 1
    NEGATE = 2


@dataclass(frozen=True)
class Settings:
    """A frozen dataclass as a constant."""

    scale: float
    times: int = 1


USUAL = Settings(1.0)


@tw.entry
def configured(
    out: tl.TensorMut,
    x: tl.Tensor,
    *,
    MODE: tl.Const[Mode] = Mode.DOUBLE,
    TO: tl.Const[type] = f32,
    SETTINGS: tl.Const[Settings] = USUAL,
    NAME: tl.Const[str] = "none",
    POWERS: tl.Const[tuple] = (),
    shift: i32 = 0,
) -> None:
    tile = tl.load_tile_like(x, out).astype(TO)
    if MODE is Mode.DOUBLE:
        tile = tile * 2
    elif MODE == Mode.NEGATE:
        tile = -tile
    for _ in tl.static_range(SETTINGS.times):
        tile = tile * SETTINGS.scale
    if NAME.startswith("add") and NAME != "addition":
        tile = tile + len(NAME)
    for p in POWERS:
        tile = tile**p
    out.store((tile + shift.astype(TO)).astype(out.dtype))


def test_constants_of_many_kinds(device, rng):
    x = rng.integers(1, 5, 21).astype(np.float32)
    cases = [
        ({}, x * 2),
        ({"MODE": Mode.NEGATE, "TO": f64}, -x),
        ({"SETTINGS": Settings(0.5, 3)}, x * 2 / 8),
        ({"NAME": "add5", "POWERS": (2,)}, (x * 2 + 4) ** 2),
        ({"POWERS": (1, 2, 1), "shift": 7}, (x * 2) ** 2 + 7),
        ({"TO": f16, "shift": -3}, x * 2 - 3),
    ]
    for constants, expected in cases:
        got = run_kernel(device, configured, (16,), x, **constants)
        assert_all([str(constants)], [got], [expected.astype(np.float32)])


def test_true_one_and_one_point_zero_are_different_constants(device):
    @tw.entry
    def kind(out: tl.TensorMut[f32], *, C: tl.Const[object]) -> None:
        number = 1.0 if C is True else 2.0 if C.__class__ is float else 3.0
        out.store(tl.full((4,), number))

    with tw.device(device):
        z = tw.full((4,), 99.0).sync()
        seen = []
        for constant in (True, 1, 1.0, True):
            kind(z.partition_mut((4,)), C=constant).sync()
            seen.append(z.to_numpy()[0])
    assert seen == [1, 3, 2, 1]


@tw.entry
def scalars(
    out: tl.TensorMut[f64], a: i8, b: u32, c: f16, d: bool, e: float, f: int, g: bf16, h: u8
) -> None:
    """Scalars of many types; Python's own mean i32, f32 and bool."""
    assert a.dtype is i8 and e.dtype is f32 and f.dtype is i32 and d.dtype is tw.bool_
    total = a.astype(f64) + b.astype(f64) + c.astype(f64) + e.astype(f64) + f.astype(f64)
    total = total + g.astype(f64) + h.astype(f64)
    out.store(tl.full((4,), total if d else -total))


def test_scalars_of_many_types(device):
    with tw.device(device):
        for flag in (True, False, np.True_):
            z = tw.full((4,), 99.0, f64).sync()
            scalars(
                z.partition_mut((4,)), -5, 2**32 - 1, 0.1, flag, 0.1, np.int64(-7), 1.5, tw.u8(9)
            ).sync()
            total = -5 + 2**32 - 1 + float(np.float16(0.1)) + float(np.float32(0.1)) - 7 + 1.5 + 9
            assert z.to_numpy().tolist() == [total if flag else -total] * 4


# --- functions and closures --------------------------------------------------------------------

LIMIT = 1.5


def make_kernel(offset, function, pair):
    """A kernel made in a function: it closes over numbers, functions and tuples."""
    scale = offset * 2

    @tw.entry
    def made(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
        tile = function(tl.load_tile_like(x, out)) * scale + offset
        out.store(tile + pair[0] - pair[1])

    return made


def test_kernels_made_in_functions(device, rng):
    x = rng.integers(-9, 9, 19).astype(np.float32)
    for offset, function, expected in (
        (1.0, abs, np.abs(x)),
        (3.0, lambda t: t * t, x * x),
        (2.0, partial(tl.maximum, 1.0), np.maximum(x, 1)),
        (0.5, tl.negf, -x),
    ):
        kernel = make_kernel(offset, function, (4, 1))
        expected = expected * (offset * 2) + offset + 3
        assert_all(["made"], [run_kernel(device, kernel, (8,), x)], [expected.astype(np.float32)])


@tw.entry
def with_modules(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Functions of another module, by name and through the module; a NamedTuple in between."""
    tile = tl.load_tile_like(x, out)
    pair = halves(tile, LIMIT)
    low, high = pair
    mixed = weighted(pair, weight=0.25) + device_functions.weighted(pair)
    turned = device_functions.early(tile, True) + device_functions.early(tile, flag=False)
    out.store(mixed + turned + (low - pair.low) + (high - pair[1]))


def test_functions_of_other_modules(device, rng):
    x = rng.integers(-8, 8, 21).astype(np.float32)
    low, high = np.minimum(x, 1.5), np.maximum(x, 1.5)
    expected = (low * 0.25 + high * 0.75) * 3 + (low + high) / 2 * 3 - x + (x + 1) * 2
    got = run_kernel(device, with_modules, (16,), x)
    assert_all(["modules"], [got], [expected.astype(np.float32)])


@tw.entry
def nested_functions(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: f32) -> None:
    """Functions written in a kernel: defaults are evaluated where they stand, names when called."""
    scale = 3.0

    def inner(t, s=scale, *more, last=n * 2.0):
        return t * s + scale + sum(more) + last

    shifted = [lambda t, k=k: t + k for k in range(3)]
    scale = 5.0
    tile = tl.load_tile_like(x, out)
    out.store(
        inner(tile) + inner(tile, 2.0, 1.0, tile, last=0.0) + shifted[1](tile) * shifted[2](1)
    )


def test_functions_written_in_kernels(device, rng):
    x = rng.integers(-9, 9, 21).astype(np.float32)

    def plain(t, n):
        return (t * 3 + 5 + n * 2) + (t * 2 + 5 + 1 + t) + (t + 1) * 3

    got = run_kernel(device, nested_functions, (8,), x, 4.0)
    assert_all(["nested"], [got], [plain(x, 4).astype(np.float32)])


class Point(NamedTuple):
    """A NamedTuple that kernels make, change and take apart."""

    x: tl.Tile[f32]
    y: tl.Tile[f32]


@dataclass(frozen=True)
class Box:
    """A frozen dataclass that holds another structure and a constant."""

    corner: Point
    size: int


@tw.entry
def structures(out: tl.TensorMut[f32], a: tl.Tensor[f32], b: tl.Tensor[f32], n: i32) -> None:
    """Structures are carried through loops and branches like what they hold."""
    box = Box(Point(tl.load_tile_like(a, out), tl.load_tile_like(b, out)), 3)
    point = box.corner
    for _ in range(n):
        point = Point(point.y, point.x + box.size)
    if n > 2:
        point = Point(x=point.x * 2.0, y=point.y)
    first, second = point
    out.store(first - second)


def test_structures(device, rng):
    a, b = rng.integers(-9, 9, (2, 13)).astype(np.float32)
    for n in (0, 1, 5):
        x, y = a, b
        for _ in range(n):
            x, y = y, x + 3
        expected = (x * 2 if n > 2 else x) - y
        assert_all([str(n)], [run_kernel(device, structures, (16,), a, b, n)], [expected])


# --- annotations -------------------------------------------------------------------------------

PLAIN = """
@tw.entry
def plain(out: tl.TensorMut[f32, tl.Dyn], x: "tl.Tensor[f32]", n: i32, *, C: tl.Const[int] = 2):
    out.store(tl.load_tile_like(x, out) * float(C) + n.astype(f32))
"""

PEP_695 = """
@tw.entry
def generic[E, M, *S](out: tl.TensorMut[E, M], x: tl.Tensor[E, *S], by: E) -> None:
    out.store(tl.load_tile_like(x, out) * by + M)


@tw.entry
def shaped[*S](out: tl.TensorMut[f32, *S], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) + float(len(S)))
"""


def test_annotations_that_are_evaluated(device, rng):
    """Without `from __future__ import annotations`, and with a string among them."""
    kernel = tw.exec(PLAIN, dict(NAMES))["plain"]
    x = rng.integers(-9, 9, 13).astype(np.float32)
    assert_all(["plain"], [run_kernel(device, kernel, (8,), x, 5)], [x * 2 + 5])
    assert_all(["C"], [run_kernel(device, kernel, (8,), x, 5, C=4)], [x * 4 + 5])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_type_parameters(device, rng):
    made = tw.exec(PEP_695, dict(NAMES))
    for dtype in (f32, i32):
        x = rng.integers(-9, 9, 13).astype(dtype.np)
        got = run_kernel(device, made["generic"], (8,), x, 3, dtype=dtype)
        assert_all(["generic"], [got], [(x * 3 + 8).astype(dtype.np)])
    x = rng.integers(-9, 9, (5, 9)).astype(np.float32)
    assert_all(["shaped"], [run_kernel(device, made["shaped"], (4, 8), x)], [x + 2])


def test_sources_given_by_hand(device, rng):
    """A kernel made by plain exec has no source; `source=` gives it one."""
    text = "def f(out: tl.TensorMut, x: tl.Tensor) -> None:\n"
    text += "    out.store(-tl.load_tile_like(x, out))\n"
    names = dict(NAMES)
    exec(text, names)
    kernel = tw.entry(source=text)(names["f"])
    x = rng.integers(-9, 9, 13).astype(np.float32)
    assert_all(["source"], [run_kernel(device, kernel, (8,), x)], [-x])


def test_kernels_without_outputs_or_arguments(device, capsys):
    @tw.entry
    def nothing() -> None:
        print("nothing to do")

    with tw.device(device):
        nothing().grid((1, 1, 1)).sync()
    assert capsys.readouterr().out == "nothing to do\n"


ROOT_OF_HALF = np.sqrt(0.5)
EIGHTH = np.float32(0.125)
SEVEN = np.int64(7)


def test_names_of_numpy(device, rng):
    """Element types of NumPy are accepted wherever ours are, and its scalars are constants."""

    @tw.entry
    def named(out: tl.TensorMut, x: tl.Tensor) -> None:
        tile = tl.load_tile_like(x, out)
        wide = tile.astype(np.float64) + tl.zeros(out.shape, "float64")
        wide = wide + tl.full(out.shape, 1, np.float64) * ROOT_OF_HALF + EIGHTH
        assert EIGHTH.dtype is f32 and (EIGHTH * 2).dtype is f32
        out.store((wide * SEVEN).astype(out.dtype))

    x = rng.integers(-9, 9, 13).astype(np.float32)
    with tw.device(device):
        z = output(x)
        named(z.cut(8), x).sync()
    expected = (x.astype(np.float64) + np.sqrt(0.5) + 0.125) * 7
    np.testing.assert_allclose(z.result(), expected, rtol=1e-6)


SEVEN_U32 = tw.u32(7)
LARGE = tw.u8(200)


def test_typed_scalars_from_outside(device):
    """They keep their type, in arithmetic among themselves too, and can be asked for it."""

    @tw.entry
    def typed(out: tl.TensorMut[u32], small: tl.TensorMut[u8], x: tl.Tensor[u32]) -> None:
        assert LARGE.dtype is u8 and (-LARGE).dtype is u8
        small.store(tl.full((4,), LARGE + LARGE))  # wraps
        if SEVEN_U32 > 3:  # still a constant
            out.store(tl.load_tile_like(x, out) * (SEVEN_U32 * 2) + LARGE.astype(u32))

    x = np.arange(4, dtype=np.uint32)
    with tw.device(device):
        z, small = output(x), Output((4,), u8)
        typed(z.cut(4), small.cut(4), x).sync()
    assert_all(["typed", "small"], [z.result(), small.result()],
               [x * 14 + 200, np.full(4, 144, np.uint8)])  # fmt: skip

    @tw.entry
    def mixed(out: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
        out.store(tl.load_tile_like(x, out) * (SEVEN_U32 * 2))

    with tw.device(device), pytest.raises(tw.CompileError, match="cannot multiply i32 and u32"):
        mixed(Output((4,), i32).cut(4), x.astype(np.int32)).sync()


# --- tuples of tensors -------------------------------------------------------------------------


@tw.entry
def summed(out: tl.TensorMut[E, *S], xs: tuple[tl.Tensor[E], ...], by: E) -> None:
    total = tl.zeros(out.shape, out.dtype)
    for x in xs:
        total = total + tl.load_tile_like(x, out)
    out.store(total * by + len(xs))


@tw.entry
def both(
    outs: tuple[tl.TensorMut[f32], tl.TensorMut[i32]],
    x: tl.Tensor[f32],
    ys: tuple[tl.Tensor[i32, M]],
) -> None:
    """M is an extent of a member."""
    first, second = outs
    first.store(tl.load_tile_like(x, first) * 2.0)
    second.store(tl.load_tile_like(ys[0], second) + M)


@pytest.mark.parametrize("dtype", [f32, i64], ids=str)
def test_tuples_of_any_length(device, dtype, rng):
    for count in (0, 1, 3, 2, 3):
        xs = [rng.integers(0, 9, (5, 9)).astype(dtype.np) for _ in range(count)]
        for given in (tuple(xs), xs):
            got = run_kernel(device, summed, (2, 4), given, 3, dtype=dtype, shape=(5, 9))
            expected = sum(xs, np.zeros((5, 9))) * 3 + count
            assert_all([str(count)], [got], [expected.astype(dtype.np)])


def test_tuples_by_name_and_with_ops(device):
    with tw.device(device):
        z = tw.zeros((9,)).sync()
        ones = tw.ones((9,)).sync()
        summed(z.partition_mut(4), by=2.0, xs=(ones, ones)).sync()
        np.testing.assert_array_equal(z.to_numpy(), np.full(9, 6))
        found = summed(tw.zeros((9,)).partition(4), (tw.ones((9,)), ones), 1.0).sync()
        np.testing.assert_array_equal(found[0].unpartition().to_numpy(), np.full(9, 4))
        assert found[2] is ones and len(found) == 4
        out = summed(tw.zeros((9,)).partition(4), (ones,), 1.0).out().sync()
        np.testing.assert_array_equal(out.to_numpy(), np.full(9, 2))


def test_tuples_of_outputs(device):
    with tw.device(device):
        a, b = tw.zeros((6,)).sync(), tw.zeros((6,), i32).sync()
        y = np.arange(6, dtype=np.int32)
        both((a.partition_mut(4), b.partition_mut(4)), np.ones(6, np.float32), (y,)).sync()
        np.testing.assert_array_equal(a.to_numpy(), np.full(6, 2))
        np.testing.assert_array_equal(b.to_numpy(), y + 6)
        with pytest.raises(tw.BorrowError):
            both((a.partition_mut(4), b.partition_mut(4)), a, (y,))


def test_tuples_that_are_refused(device):
    x = np.ones(9, np.float32)
    with tw.device(device):
        z = tw.zeros((9,)).sync()
        with pytest.raises(TypeError, match="`xs` takes a tuple of tensors, got ndarray"):
            summed(z.partition_mut(4), x, 1.0)
        with pytest.raises(TypeError, match="`outs` takes a tuple of 2 tensors, got 1"):
            both((z.partition_mut(4),), x, (x,))
        with pytest.raises(tw.ShapeError, match="`E` of `summed` has two element types"):
            summed(z.partition_mut(4), (x.astype(np.int32),), 1.0).sync()
        with pytest.raises(TypeError, match=r"takes 3 positional arguments \(out, xs, by\), 2"):
            summed(z.partition_mut(4), (x,))
        with pytest.raises(TypeError, match=r"`xs_0` of `summed`"):
            summed(z.partition_mut(4), ("x",), 1.0)
    assert "xs_1" in summed.explain(z.partition_mut(4), (x, x), 1.0)
