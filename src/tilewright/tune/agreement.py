"""Whether two results agree: compared on their device, by kernels of our own.

The deviation of an element is its difference from what is expected, relative to that and to the
mean magnitude of all that is expected: sums in another order differ by a share of their terms, of
which that is a measure, and not of the element itself, which may be close to zero.
"""

from __future__ import annotations

import math
from typing import Any

from .. import lang as tl
from ..base import dtypes as dt
from ..base.dtypes import AnyDType, f8e4m3fn, f8e5m2, f32, f64
from ..devices.protocol import Stream
from ..kernels.capturing import kernel
from ..tensors.create import zeros
from ..tensors.tensor import Tensor

TOLERANCES: dict[AnyDType, float] = {
    dt.f64: 1e-8,
    dt.f32: 1e-3,
    dt.tf32: 1e-2,
    dt.f16: 1e-2,
    dt.bf16: 4e-2,
    dt.f8e4m3fn: 0.3,
    dt.f8e5m2: 0.6,
}
"""Deviations that the order of sums explains, by element type; others must be equal."""
BYTES = (dt.f4e2m1fnx2, dt.f8e8m0fnu)
"""Types that are compared by their bytes: no single numbers, or no function takes them."""
TILE = 4096
"""Elements that a block compares."""


@kernel
def magnitudes(sums: tl.TensorMut[f32], x: tl.Tensor) -> None:
    """Sum up the finite magnitudes of each block."""
    size = tl.abs(x.partition((TILE,)).load((tl.block_id(0),)).astype(f32))
    sums.store(tl.full(sums.shape, tl.reduce_sum(tl.where(size < tl.pos_inf, size, 0.0)), f32))


@kernel
def deviations(worst: tl.TensorMut[f32], x: tl.Tensor, expected: tl.Tensor, scale: f32) -> None:
    """Compute the greatest deviation of each block; infinite where one alone is not finite."""
    a = x.partition((TILE,)).load((tl.block_id(0),))
    b = expected.partition((TILE,)).load((tl.block_id(0),))
    wide = x.dtype if x.dtype is f64 else f32
    u, v = a.astype(wide), b.astype(wide)
    if x.dtype is f8e4m3fn or x.dtype is f8e5m2:  # which are not compared themselves
        same = (u == v) | ((u != u) & (v != v))
    else:
        same = (a == b) | ((a != a) & (b != b))
    off = tl.abs(u - v) / (tl.abs(v) + scale)
    off = tl.where(off < tl.pos_inf, off, tl.pos_inf).astype(f32)
    # Large integers that differ may be equal when they are converted.
    off = tl.where(same, 0.0, tl.maximum(off, 1e-30))
    worst.store(tl.full(worst.shape, tl.reduce_max(off), f32))


def scale_of(expected: Tensor[Any], stream: Stream) -> float:
    """Return the mean magnitude of a result; at least what keeps deviations finite."""
    flat = _flat(expected)
    if not flat.dtype.is_float:
        return 1.0
    sums = _per_block(flat, stream)
    magnitudes(sums.partition_mut((1,)), flat).sync_on(stream)
    return max(float(sums.to_numpy().sum(dtype="f8")) / flat.size, 1e-30)


def deviation(found: Tensor[Any], expected: Tensor[Any], scale: float, stream: Stream) -> float:
    """Return the greatest deviation of a result from another one of its shape and type."""
    x, y = _flat(found), _flat(expected)
    worst = _per_block(x, stream)
    deviations(worst.partition_mut((1,)), x, y, scale).sync_on(stream)
    return float(worst.to_numpy().max())


def prepare(like: Tensor[Any], stream: Stream) -> None:
    """Compile what compares results of such a shape and type, without running it."""
    flat = _flat(like)
    sums = _per_block(flat, stream)
    for launch in (
        magnitudes(sums.partition_mut((1,)), flat),
        deviations(sums.partition_mut((1,)), flat, flat, 1.0),
    ):
        launch.compile()
        launch.close()


def tolerance_of(dtype: AnyDType) -> float:
    """Return how far apart results of a type may be."""
    return TOLERANCES.get(dtype, 0.0)


def said(off: float) -> str:
    """Describe a deviation."""
    return "by more than any number" if math.isinf(off) else f"by {off:.2g} of its magnitude"


def _flat(tensor: Tensor[Any]) -> Tensor[Any]:
    """Return a contiguous tensor as a vector, of bytes where its type requires that."""
    if tensor.dtype in BYTES:
        return tensor.reinterpret(dt.u8, (tensor.nbytes,))
    return tensor.view((tensor.size,))


def _per_block(flat: Tensor[Any], stream: Stream) -> Tensor[Any]:
    return zeros((-(-flat.size // TILE),), f32, device=stream.device).sync_on(stream)
