"""The arrangement of tiles of every element type, and tiles made from nothing."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import assert_all, bits_of, run
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, FLOATS, INTS, bool_, f4e2m1fn, f4e2m1fnx2, f32, i32, i64

MATRIX = {
    "tl.reshape(a, (4, 32))": lambda a: a.reshape(4, 32),
    "a.reshape(128)": lambda a: a.reshape(128),
    "a.reshape((2, 4, -1))": lambda a: a.reshape(2, 4, 16),
    "a.reshape(-1, 1)": lambda a: a.reshape(128, 1),
    "tl.reshape(a, -1)": lambda a: a.reshape(-1),
    "tl.broadcast(a, (2, 8, 16))": lambda a: np.broadcast_to(a, (2, 8, 16)),
    "a.reshape(8, 1, 16).broadcast(8, 4, 16)": lambda a: np.broadcast_to(a[:, None], (8, 4, 16)),
    "tl.expand_dims(a, 1)": lambda a: a[:, None, :],
    "tl.expand_dims(a, -1)": lambda a: a[..., None],
    "a[None, :]": lambda a: a[None],
    "a[:, None]": lambda a: a[:, None],
    "a[..., None]": lambda a: a[..., None],
    "a[None, ..., None, :]": lambda a: a[None, :, None, :],
    "tl.permute(a, (1, 0))": lambda a: a.T,
    "a.permute(1, 0)": lambda a: a.T,
    "a.T": lambda a: a.T,
    "tl.transpose(a)": lambda a: a.T,
    "a.transpose()": lambda a: a.T,
    "a.T.reshape(8, 16)": lambda a: a.T.reshape(8, 16),
    "a.T.reshape(8, 16).T": lambda a: a.T.reshape(8, 16).T,
    "tl.cat(a, a, 0)": lambda a: np.concatenate([a, a]),
    "tl.cat(a, a.reshape(16, 8).T, 1)": lambda a: np.concatenate([a, a.reshape(16, 8).T], 1),
    "tl.cat(a.T, a.T, -1)": lambda a: np.concatenate([a.T, a.T], 1),
    "tl.extract(a, [1, 2], (4, 4))": lambda a: a[4:8, 8:12],
    "tl.extract(a, (0, 3), (8, 4))": lambda a: a[:, 12:],
    "tl.extract(a.T, [tl.block_id(0) + 3, 1], (4, 2))": lambda a: a.T[12:, 2:4],
    "tl.extract(a, [tl.block_id(0) + 5, 0], (4, 16))": lambda a: a[4:8],
    "tl.where(tl.arange(16) < 5, a, a.reshape(16, 8).T)":
        lambda a: np.where(np.arange(16) < 5, a, a.reshape(16, 8).T),
}  # fmt: skip

CUBE = {
    "b.permute(2, 0, 1)": lambda b: b.transpose(2, 0, 1),
    "tl.permute(b, [1, 2, 0])": lambda b: b.transpose(1, 2, 0),
    "b.permute((0, -1, 1))": lambda b: b.transpose(0, 2, 1),
    "b.transpose()": lambda b: b.swapaxes(1, 2),
    "tl.transpose(b, 0, 2)": lambda b: b.swapaxes(0, 2),
    "b.transpose(0, 1)": lambda b: b.swapaxes(0, 1),
    "tl.cat(b, b, 1)": lambda b: np.concatenate([b, b], 1),
    "tl.extract(b, [1, 0, 1], (1, 4, 4))": lambda b: b[1:, :, 4:],
    "b.permute(2, 0, 1).reshape(8, 8)": lambda b: b.transpose(2, 0, 1).reshape(8, 8),
    "b.reshape(8, 8).T.reshape(4, 16)": lambda b: b.reshape(8, 8).T.reshape(4, 16),
}

EVERY = [
    "a.reshape((2, 4, -1))", "tl.broadcast(a, (2, 8, 16))", "a[:, None]", "a.T",
    "a.T.reshape(8, 16)",
    "tl.cat(a, a.reshape(16, 8).T, 1)", "tl.extract(a, [1, 2], (4, 4))", "b.permute(2, 0, 1)",
    "tl.extract(a, [tl.block_id(0) + 5, 0], (4, 16))",
    "tl.where(tl.arange(16) < 5, a, a.reshape(16, 8).T)",
]  # fmt: skip
"""What is tried with every element type; f32 has all."""

STORED = [t for t in ALL if t is not f4e2m1fn]


def padded(array, shape):
    whole = np.zeros(shape, array.dtype)
    whole[tuple(slice(n) for n in array.shape)] = array
    return whole


def random_bytes(dtype, shape, rng):
    raw = rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
    if dtype.is_bool:
        raw &= 1
    return raw.view(dtype.np).reshape(shape)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_arrangements(device, dtype, rng):
    """Bits stay what they are; the last rows and columns of the tile are padding."""
    texts = [*MATRIX, *CUBE] if dtype is f32 else EVERY
    a, b = random_bytes(dtype, (7, 13), rng), random_bytes(dtype, (2, 3, 7), rng)
    whole = {"a": padded(a, (8, 16)), "b": padded(b, (2, 4, 8))}
    expected = [MATRIX[t](whole["a"]) if t in MATRIX else CUBE[t](whole["b"]) for t in texts]
    shapes = [e.shape for e in expected]
    lines = ["a = in_a.load_tile((8, 16), [0, 0])", "b = in_b.load_tile((2, 4, 8), [0, 0, 0])"]
    inputs = {"a": (a, dtype), "b": (b, dtype)}
    got = run(texts, device, inputs, dtype, tile=shapes, shape=shapes, load="{}", lines=lines)
    for text, result, wanted in zip(texts, got, expected, strict=True):
        assert result.shape == wanted.shape, text
        assert (bits_of(result) == bits_of(wanted)).all(), text


def test_arrangements_of_f4(device, rng):
    """f4 has no memory form of its own: it is packed again at the end."""
    table = {t: f for t, f in MATRIX.items() if f(np.zeros((8, 16))).shape[-1] > 1}
    bytes_ = rng.integers(0, 256, (8, 8), dtype=np.uint8)
    codes = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(8, 16)
    expected = [f(codes) for f in table.values()]
    expected = [np.asarray(e[..., 0::2] | e[..., 1::2] << 4) for e in expected]
    shapes = [e.shape for e in expected]
    got = run(
        [f"tl.pack({t})" for t in table], device, {"a": (bytes_, f4e2m1fnx2)}, f4e2m1fnx2,
        tile=shapes, shape=shapes, load="tl.unpack({}.load_tile((8, 8), [0, 0]))",
    )  # fmt: skip
    assert_all([*table], got, expected)


def test_what_is_known_while_compiling(device):
    texts = [
        "tl.full((1,), len(a) * 100 + a.rank * 10 + a.ndim)", "tl.full((1,), a.size)",
        "tl.full((1,), a.shape[1] * 100 + tl.get_shape_dim(a, 0))",
        "tl.full((1,), tl.get_shape_dim((3, 5, 7), -1))",
        "tl.full((1,), tl.permute_array((10, 20, 30), (2, 0, 1))[0])",
        "tl.full((1,), 1 if a.dtype is i32 else 0)", "tl.full((1,), a.dtype.bits)",
    ]  # fmt: skip
    a = np.zeros((8, 16), np.int32)
    load = "{}.load_tile((8, 16), [0, 0])"
    got = run(texts, device, {"a": a}, i32, tile=(1,), shape=(1,), load=load)
    assert [int(r[0]) for r in got] == [822, 128, 1608, 7, 30, 1, 32]


# --- tiles from nothing ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [t for t in STORED if t is not f4e2m1fnx2], ids=str)
def test_constants(device, dtype):
    name = dtype.__name__
    texts = {
        f"tl.ones((4, 8), {name})": 1, f"tl.full((4, 8), 1, {name})": 1,
        f"tl.constant(1, (4, 8), {name})": 1,
        f"tl.broadcast_scalar(tl.astype(1, {name}), (4, 8))": 1,
    }  # fmt: skip
    if dtype.__name__ != "f8e8m0fnu":  # which has no zero
        texts[f"tl.zeros((4, 8), {name})"] = 0
    if dtype.is_int or dtype in FLOATS:
        texts[f"tl.full((4, 8), 100, {name})"] = 100
        texts[f"tl.full((4, 8), scalar.astype({name}))"] = 77
        texts[f"tl.full((4, 8), scalar, {name})"] = 77
    got = run([*texts], device, {}, dtype, tile=(4, 8), shape=(4, 7),
              lines=["scalar = tl.block_id(0) + 77"])  # fmt: skip
    assert_all([*texts], got, [np.full((4, 7), v, np.float32).astype(dtype.np)
                               for v in texts.values()])  # fmt: skip


def test_types_of_constants(device):
    """Without a dtype a float makes f32, an int i32, a bool bool, a scalar its own."""
    texts = {
        "tl.zeros(8)": f32, "tl.ones((8,))": f32, "tl.full(8, 2.5)": f32, "tl.full(8, 3)": i32,
        "tl.full(8, True)": bool_, "tl.constant(2, 8)": i32, "tl.constant(0.5, (8,))": f32,
        "tl.full(8, tl.block_id(0).astype(i64))": i64, "tl.arange(8)": i32, "tl.iota(8)": i32,
        "tl.full(8, tw.u8(200))": tw.u8, "tl.broadcast_scalar(tw.f16(0.5), 8)": tw.f16,
    }  # fmt: skip
    got = run([*texts], device, {}, [*texts.values()], tile=(8,), shape=(8,))
    values = [0, 1, 2.5, 3, True, 2, 0.5, 0, np.arange(8), np.arange(8), 200, 0.5]
    expected = [
        np.broadcast_to(np.asarray(v), (8,)).astype(t.np)
        for v, t in zip(values, texts.values(), strict=True)
    ]
    assert_all([*texts], got, expected)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS], ids=str)
def test_counting(device, dtype):
    name = dtype.__name__
    texts = [f"tl.arange(16, dtype={name})", f"tl.arange(3, 19, dtype={name})",
             f"tl.arange(16).astype({name})"]  # fmt: skip
    count = np.arange(16)
    expected = [count, count + 3, count]
    if dtype.is_int:
        texts += [f"tl.iota(16, {name})", f"tl.iota((16,), {name}) * 3"]
        expected += [count, count * 3]
    if dtype.is_float or dtype.is_signed:
        texts.append(f"tl.arange(-8, 8, dtype={name})")
        expected.append(count - 8)
    got = run(texts, device, {}, dtype, tile=(16,), shape=(13,))
    assert_all(texts, got, [e[:13].astype(dtype.np) for e in expected])


def test_long_counts_wrap_in_small_types(device):
    """iota and arange count as integers do."""
    (got,) = run(["tl.iota(256, u8)"], device, {}, tw.u8, tile=(256,), shape=(256,))
    assert (got == np.arange(256)).all()


def test_scalars_and_tiles(device):
    texts = [
        "tl.full((1,), tl.tile_to_scalar(a.reshape(1, 1)))", "tl.scalar_to_tile(s).reshape(1)",
        "tl.full((1,), a.item())", "tl.full((1,), tl.scalar_to_tile(3))",
        "tl.full((1,), tl.reduce_sum(a))", "tl.full((1,), tl.max(s, 2, 9) - tl.min(s, 4))",
        "tl.full((1,), max(s, 2) + min(3, s, 100))", "tl.full((1,), tl.max(3, 8))",
        "tl.full((1,), tl.maximum(s, 50))", "tl.full((1,), abs(s - 10))",
    ]  # fmt: skip
    a = np.array([42], np.int32)
    lines = ["s = tl.block_id(0) + 5"]
    got = run(texts, device, {"a": a}, i32, tile=(1,), lines=lines)
    assert [int(r[0]) for r in got] == [42, 5, 42, 3, 42, 5, 8, 8, 50, 5]


@tw.entry
def sorted_by_exchanges(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    """Sort by a bitonic network: each of 21 steps needs two elements of the step before."""
    tile, n = tl.load_tile_like(x, z), z.shape[0]
    for k in tl.static_range(1, n.bit_length()):
        for s in tl.static_range(1, k + 1):
            d = (1 << k) >> s
            pairs = tile.reshape(-1, 2, d)
            groups = pairs.shape[0]
            low = tl.extract(pairs, (0, 0, 0), (groups, 1, d))
            high = tl.extract(pairs, (0, 1, 0), (groups, 1, d))
            first = tl.arange(2)[None, :, None] == 0
            up = ((tl.arange(groups) * (2 * d)) & (1 << k))[:, None, None] == 0
            tile = tl.where(first == up, tl.minimum(low, high), tl.maximum(low, high)).reshape(n)
    z.store(tile)


def test_long_chains_of_rearranged_tiles_compile(device):
    x = fresh_rng().standard_normal(64).astype(np.float32)
    z = tw.full((64,), np.nan, device=device).sync()
    with tw.device(device):
        sorted_by_exchanges(z.partition_mut((64,)), tw.from_numpy(x).sync()).sync()
    np.testing.assert_array_equal(z.to_numpy(), np.sort(x))
