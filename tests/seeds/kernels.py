"""Kernels that the claims are tried with, and what is written around them again and again."""

from __future__ import annotations

import re

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], k: f32) -> None:
    z.store(tl.load_tile_like(x, z) * k)


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def no_negatives(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z, padding=tl.pos_inf)
    assert tl.reduce_min(tile, 0) >= 0.0, "negative input"
    z.store(tl.sqrt(tile))


@tw.entry
def not_typed(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) @ 1)  # type: ignore[operator]


@tw.entry(unsafe=True)
def double_through(p: tl.Ptr[f32], n: tw.i32) -> None:
    i = tl.arange(64) + tl.block_id(0) * 64
    tl.scatter(p, i, tl.gather(p, i, i < n) * 2.0, i < n)


@simt.kernel
def at_least(out: simt.DisjointSlice[f32], x: simt.Slice[f32], least: f32) -> None:
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] if x[i] >= least else 0.0


def numbers(rng, *shape, dtype="f4"):
    """Random numbers, small ints among them where the type is one."""
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def put(array):
    """A tensor with the elements of an array."""
    return tw.from_numpy(array).sync()


def same(found, expected):
    """Whether a tensor has exactly the elements of an array."""
    np.testing.assert_array_equal(found.to_numpy(), expected)


def scaled(x, k):
    """An op: k times a tensor of one axis, in a new one."""
    return scale(tw.empty(x.shape).partition((64,)), x, k).out()


def stream_of_op():
    """An op that gives the stream it runs on."""
    return tw.with_context(lambda ctx: tw.value(ctx.stream))


def compilations(kernel):
    """How often a kernel was compiled in this process."""
    return len(re.findall(r"^\d+\. ", kernel.explain_recompile(), re.MULTILINE))
