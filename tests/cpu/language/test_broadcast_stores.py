"""Stores of what broadcasts to the tile of an output: numbers, scalars, tiles of fewer elements."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import BOUNDARY, assert_all, output, run
from tilewright import f32, i32
from tilewright.base.dtypes import ALL, FLOATS, bool_, f4e2m1fn, f8e8m0fnu

STORED = {
    "0": lambda rows, columns: np.zeros((), "f4"),
    "-1.5": lambda rows, columns: np.float32(-1.5),
    "f32(3)": lambda rows, columns: np.float32(3),
    "tl.reduce_sum(row)": lambda rows, columns: columns.sum(),
    "row": lambda rows, columns: columns,
    "row[None, :]": lambda rows, columns: columns,
    "row.reshape(8)[:, None] * 0.0 + 2.0": lambda rows, columns: np.float32(2),
    "column[:, None]": lambda rows, columns: rows[:, None],
}


@pytest.mark.filterwarnings(r"ignore:\[padding-not-neutral\]")
def test_what_broadcasts_fills_the_region(device, rng):
    """At the edges as well, where the rest of a tile is outside."""
    columns, rows = rng.integers(-9, 9, (2, 8)).astype(np.float32)
    lines = ["row = in_columns.load_tile((8,), [0])", "column = in_rows.load_tile((8,), [0])"]
    for height in BOUNDARY:
        height = min(height, 8)
        for width in (1, 5, 8):
            inputs = {"columns": columns, "rows": rows}
            got = run([*STORED], device, inputs, f32, tile=(8, 8), shape=(height, width),
                      load="{}", lines=lines)  # fmt: skip
            expected = [
                np.broadcast_to(f(rows, columns), (8, 8))[:height, :width].astype(np.float32)
                for f in STORED.values()
            ]
            assert_all([*STORED], got, expected)


WITH_ZERO = [t for t in ALL if t not in (f4e2m1fn, f8e8m0fnu) and t.kind != "p"]


@pytest.mark.parametrize("dtype", WITH_ZERO, ids=str)
def test_numbers_of_every_type(device, dtype):
    text = "False" if dtype is bool_ else "0"
    (got,) = run([text], device, {"a": np.ones(21, np.float32)}, dtype, tile=(16,))
    assert got.tobytes() == np.zeros(21, dtype.np).tobytes()


@tw.entry
def clear_parts(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    parts = out.partition_mut((4,))
    for i in range(parts.num_tiles(0)):
        parts.store(x.load_tile((1,), [i]), [i])


def test_parts_of_a_region(device, rng):
    x = rng.standard_normal(4).astype(np.float32)
    with tw.device(device):
        out = output(np.zeros(16, np.float32))
        clear_parts(out.cut(16), x).sync()
        assert np.array_equal(out.result(), np.repeat(x, 4))


# --- extents beside floats ---------------------------------------------------------------------

EXTENTS = {
    "a / in_a.shape[0]": lambda a, n: a / a.dtype.type(n),
    "a * in_a.shape[0]": lambda a, n: a * a.dtype.type(n),
    "in_a.shape[0] - a": lambda a, n: a.dtype.type(n) - a,
    "a / (in_a.shape[0] * 2 - 1)": lambda a, n: a / a.dtype.type(2 * n - 1),
    "a / (in_a.shape[0] // 2 + 1)": lambda a, n: a / a.dtype.type(n // 2 + 1),
    "tl.maximum(a, in_a.shape[0])": lambda a, n: np.maximum(a, a.dtype.type(n)),
    "tl.where(a < in_a.shape[0], a, in_a.shape[0])": lambda a, n: np.minimum(a, a.dtype.type(n)),
    "a / tl.ceil_div(in_a.shape[0], 16)": lambda a, n: a / a.dtype.type(-(-n // 16)),
    "a / in_a.partition((16,)).grid[0]": lambda a, n: a / a.dtype.type(-(-n // 16)),
    "a / tl.num_blocks(0)": lambda a, n: a / a.dtype.type(-(-n // 16)),
}
ALONE = {
    "a * (1.0 / in_a.shape[0])": lambda a, n: a * (np.float32(1) / np.float32(n)),
    "a * (1 / in_a.shape[0])": lambda a, n: a * (np.float32(1) / np.float32(n)),
    "a + in_a.shape[0] / in_a.shape[0]": lambda a, n: a + np.float32(1),
    "a * (in_a.shape[0] * 0.5)": lambda a, n: a * (np.float32(n) * np.float32(0.5)),
}


@pytest.mark.parametrize("dtype", [t for t in FLOATS if t.bits >= 32], ids=str)
def test_extents_beside_floats(device, dtype, rng):
    table = EXTENTS | (ALONE if dtype is f32 else {})
    for count in BOUNDARY[1:]:
        a = (10 * rng.standard_normal(count)).astype(dtype.np)
        got = run([*table], device, {"a": a}, dtype, tile=(16,))
        expected = [f(a, count) for f in table.values()]
        assert_all([*table], got, expected, ulps=dict.fromkeys(table, 2))


@pytest.mark.parametrize("dtype", [t for t in FLOATS if t.bits == 16], ids=str)
def test_extents_beside_short_floats(device, dtype, rng):
    a = (10 * rng.standard_normal(40)).astype(dtype.np)
    (got,) = run(["a * in_a.shape[0]"], device, {"a": a}, dtype, tile=(16,))
    expected = (a.astype(np.float64) * 40).astype(dtype.np)
    assert np.array_equal(got, expected)


def test_extents_beside_integers_stay_integers(device):
    a = np.arange(40, dtype=np.int32)
    texts = ["a // in_a.shape[0]", "a + in_a.shape[0]"]
    assert_all(texts, run(texts, device, {"a": a}, i32, tile=(16,)), [a // 40, a + 40])
