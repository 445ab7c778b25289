from __future__ import annotations

import numpy as np
import pytest

from rule_kit import Kit
from tilewright.base.dtypes import bool_, f8e4m3fn, f16, f32, i32, i64, u8
from tilewright.base.errors import Code
from tilewright.ir.types import PtrType, TileType

ALL = slice(None)


def numbered(*shape):
    return np.arange(np.prod(shape)).reshape(shape)


def check(name, shape, *args, expected, **keywords):
    """A rule on a numbered tile must do what NumPy does."""
    kit = Kit()
    result = kit(name, kit.tile(i32, *shape), *args, **keywords)
    got = kit.compute(result, numbered(*shape))
    assert np.array_equal(got, expected(numbered(*shape)))
    assert got.shape == result.tile.shape


# --- shapes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reshape", "Tile.reshape"])
@pytest.mark.parametrize(
    ("old", "new"),
    [((4, 8), (32,)), ((4, 8), (2, -1)), ((4, 8), (-1,)), ((4, 8), -1), ((4, 8), 32),
     ((4, 8), (8, 4)), ((4, 8), (1, 4, 1, 8)), ((1, 1), ()), ((), (1,)), ((4, 8), [2, 16])],
)  # fmt: skip
def test_reshape(name, old, new):
    check(name, old, new, expected=lambda a: a.reshape(new))


def test_extents_one_by_one():
    check("Tile.reshape", (4, 8), 2, -1, expected=lambda a: a.reshape(2, -1))
    check("Tile.permute", (4, 8, 2), 2, 0, 1, expected=lambda a: a.transpose(2, 0, 1))
    check("Tile.broadcast", (1, 8), 4, 8, expected=lambda a: np.broadcast_to(a, (4, 8)))


@pytest.mark.parametrize("name", ["reshape", "broadcast", "permute"])
def test_nothing_to_do_emits_nothing(name):
    kit = Kit()
    x = kit.tile(f32, 4, 8)
    assert kit(name, x, (0, 1) if name == "permute" else (4, 8)) is x
    assert kit.ops == []


@pytest.mark.parametrize(
    ("code", "shape"),
    [(Code.SHAPE, (4, 4)), (Code.SHAPE, (-1, -1)), (Code.SHAPE, (64, -1)), (Code.SHAPE, (-1, 0)),
     (Code.SHAPE, (3, -1)), (Code.POWER_OF_TWO, (3, 8)), (Code.POWER_OF_TWO, (-2, 4)),
     (Code.NOT_STATIC, (4.0, 8))],
)  # fmt: skip
def test_shapes_that_do_not_fit(code, shape):
    kit = Kit()
    kit.refused(code, "reshape", kit.tile(f32, 4, 8), shape)


def test_a_dynamic_extent():
    kit = Kit()
    kit.refused(Code.NOT_STATIC, "reshape", kit.tile(f32, 4, 8), (kit.tile(i32), 8))


@pytest.mark.parametrize("name", ["broadcast", "Tile.broadcast"])
@pytest.mark.parametrize(("old", "new"), [((8,), (4, 8)), ((4, 1), (4, 8)), ((), (2, 2))])
def test_broadcast(name, old, new):
    check(name, old, new, expected=lambda a: np.broadcast_to(a, new))


def test_broadcast_refuses():
    kit = Kit()
    kit.refused(Code.BROADCAST, "broadcast", kit.tile(f32, 4), (8,))
    kit.refused(Code.BROADCAST, "broadcast", kit.tile(f32, 4, 4), (4,))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_expand_dims(axis):
    check("expand_dims", (4, 8), axis, expected=lambda a: np.expand_dims(a, axis))


def test_expand_dims_refuses():
    kit = Kit()
    kit.refused(Code.RANK, "expand_dims", kit.tile(f32, 4, 8), 3)


@pytest.mark.parametrize(
    "index",
    [(None, ALL), (ALL, None), None, (None,), (ALL,), ALL, ..., (..., None), (None, ...),
     (ALL, None, ALL), (None, ALL, None, ..., None), (ALL, ..., ALL), (None, ..., ALL)],
)  # fmt: skip
def test_new_axes(index):
    check("operator.getitem", (4, 8), index, expected=lambda a: a[index])


def test_new_axes_of_a_scalar():
    check("operator.getitem", (), (None, None), expected=lambda a: a[None, None])


@pytest.mark.parametrize("index", [0, (0, ALL), slice(0, 2), (ALL, slice(None, None, 2)), "a"])
def test_parts_are_not_taken_by_index(index):
    kit = Kit()
    error = kit.refused(Code.TYPE, "operator.getitem", kit.tile(f32, 4, 8), index)
    assert "tl.extract(x, index, shape)" in error.hint


def test_an_index_with_a_tile():
    kit = Kit()
    x = kit.tile(i32, 4)
    kit.refused(Code.TYPE, "operator.getitem", x, x)
    kit.refused(Code.TYPE, "operator.getitem", x, slice(0, kit.tile(i32)))


@pytest.mark.parametrize("index", [(ALL, ALL), (..., ...)])
def test_too_many_axes(index):
    kit = Kit()
    kit.refused(Code.RANK, "operator.getitem", kit.tile(f32, 4), index)


# --- order of axes ---------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (-1, 0, 1), [0, 2, 1]])
def test_permute(order):
    axes = [k % 3 for k in order]
    check("permute", (2, 4, 8), order, expected=lambda a: a.transpose(axes))


@pytest.mark.parametrize("order", [(0, 1), (0, 0, 1), (0, 1, 3), (0, 1, 2, 2)])
def test_permute_refuses(order):
    kit = Kit()
    kit.refused(Code.RANK, "permute", kit.tile(f32, 2, 4, 8), order)


def test_transpose():
    check("transpose", (4, 8), expected=lambda a: a.T)
    check("transpose", (2, 4, 8), expected=lambda a: a.swapaxes(1, 2))
    check("Tile.transpose", (2, 4, 8), 0, -1, expected=lambda a: a.swapaxes(0, 2))
    check("Tile.transpose", (2, 4, 8), axis0=0, expected=lambda a: a.swapaxes(0, 2))
    check("Tile.T", (4, 8), expected=lambda a: a.T)


def test_transpose_refuses():
    kit = Kit()
    for shape in ((), (4,)):
        assert "x[:, None]" in kit.refused(Code.RANK, "transpose", Kit().tile(f32, *shape)).hint
        kit.refused(Code.RANK, "Tile.T", Kit().tile(f32, *shape))
    assert "x.permute(order)" in kit.refused(Code.RANK, "Tile.T", kit.tile(f32, 2, 4, 8)).hint
    kit.refused(Code.RANK, "transpose", kit.tile(f32, 4, 8), 0, 2)


# --- parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cat(axis):
    kit = Kit()
    result = kit("cat", kit.tile(i32, 4, 8), kit.tile(i32, 4, 8), axis)
    a, b = numbered(4, 8), -numbered(4, 8)
    assert np.array_equal(kit.compute(result, a, b), np.concatenate([a, b], axis))


def test_cat_widens():
    kit = Kit()
    assert kit("cat", kit.tile(f16, 4), kit.tile(f32, 4)).type == TileType(f32, (8,))
    kit.refused(Code.PROMOTION, "cat", kit.tile(f16, 4), kit.tile(i32, 4))


@pytest.mark.parametrize(
    ("code", "a", "b", "axis"),
    [(Code.POWER_OF_TWO, (4,), (8,), 0), (Code.SHAPE, (4, 8), (4, 4), 0),
     (Code.RANK, (4, 8), (4,), 0), (Code.RANK, (4,), (4,), 1), (Code.RANK, (), (), 0)],
)  # fmt: skip
def test_cat_refuses(code, a, b, axis):
    kit = Kit()
    kit.refused(code, "cat", kit.tile(f32, *a), kit.tile(f32, *b), axis)


def test_extract_counts_parts():
    check("extract", (4, 8), (1, 2), (2, 2), expected=lambda a: a[2:4, 4:6])
    check("extract", (8,), 3, (2,), expected=lambda a: a[6:8])
    check("extract", (4, 8), (0, 0), (4, 8), expected=lambda a: a)


def test_extract_by_a_scalar():
    kit = Kit()
    x, n = kit.tile(i32, 8), kit.tile(u8)
    result = kit("extract", x, n, 2)
    assert kit.compute(result, numbered(8), 3).tolist() == [6, 7]


@pytest.mark.parametrize(
    ("code", "index", "shape"),
    [(Code.SHAPE, (0, 0), (8, 8)), (Code.SHAPE, 0, (4,)), (Code.RANK, 0, (2, 2)),
     (Code.INDEX, (2, 0), (2, 2)), (Code.INDEX, (0, -1), (2, 2)), (Code.TYPE, (0, 0.5), (2, 2)),
     (Code.POWER_OF_TWO, (0, 0), (3, 2))],
)  # fmt: skip
def test_extract_refuses(code, index, shape):
    kit = Kit()
    kit.refused(code, "extract", kit.tile(f32, 4, 8), index, shape)


def test_extract_wants_small_scalars():
    kit = Kit()
    kit.refused(Code.TYPE, "extract", kit.tile(f32, 8), kit.tile(i64), 2)
    kit.refused(Code.TYPE, "extract", kit.tile(f32, 8), kit.tile(i32, 1), 2)


def test_shapes_as_values():
    kit = Kit()
    x = kit.tile(f16, 4, 8)
    assert kit("get_shape_dim", x, -1) == 8
    assert kit("get_shape_dim", (3, 5), 0) == 3
    assert kit("permute_array", (3, 5, 7), (2, 0, 1)) == (7, 3, 5)
    kit.refused(Code.RANK, "get_shape_dim", x, 2)
    kit.refused(Code.RANK, "permute_array", (3, 5), (0, 0))


@pytest.mark.parametrize(
    ("shape", "facts"), [((4, 8), ((4, 8), 2, 32)), ((16,), ((16,), 1, 16)), ((), ((), 0, 1))]
)
def test_properties(shape, facts):
    kit = Kit()
    x = kit.tile(f16, *shape)
    assert (kit("Tile.shape", x), kit("Tile.rank", x), kit("Tile.size", x)) == facts
    assert kit("Tile.ndim", x) == kit("Tile.rank", x)
    assert kit("Tile.dtype", x) is f16
    assert kit("builtins.len", (x, 3)) == 2
    if shape:
        assert kit("builtins.len", x) == shape[0]
    else:
        kit.refused(Code.RANK, "builtins.len", x)


@pytest.mark.parametrize("dtype", [f8e4m3fn, bool_])
def test_any_elements_can_be_arranged(dtype):
    kit = Kit()
    x = kit.tile(dtype, 2, 4)
    assert kit("Tile.T", x).type == TileType(dtype, (4, 2))
    assert kit("cat", x, x).type == TileType(dtype, (4, 4))


def test_pointers_can_be_arranged():
    kit = Kit()
    p = kit.pointers(f32, 4)
    assert kit("operator.getitem", p, (None, ALL)).type == TileType(PtrType(f32), (1, 4))
    assert kit("broadcast", p, (2, 4)).type == TileType(PtrType(f32), (2, 4))
    assert kit("Tile.shape", p) == (4,)
