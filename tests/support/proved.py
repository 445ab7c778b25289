"""The kernels that must have no check in them, with arguments; and their unchecked twins."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

EXAMPLES = Path(__file__).parents[2] / "examples"


@tw.entry
def grouped_attention(
    out: tl.TensorMut[f32],
    q: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn],
    k: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn],
    v: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn],
    scale: f32,
    *,
    BN: tl.Const[int] = 16,
    CAUSAL: tl.Const[bool] = True,
) -> None:
    """Heads share keys in groups; a causal block stops at the keys that its rows see."""
    _, BM, D = out.shape
    head, block, _ = tl.get_tile_block_id()
    shared = head // (q.shape[0] // k.shape[0])
    query = tl.load_tile_like(q, out).reshape(BM, D)
    keys, values = k.partition((1, BN, D)), v.partition((1, BN, D))
    rows = (tl.arange(BM) + block * BM)[:, None]
    peak = tl.full((BM, 1), tl.neg_inf, f32)
    total = tl.zeros((BM, 1), f32)
    acc = tl.zeros((BM, D), f32)
    count = tl.num_tiles(keys, 1)
    if CAUSAL:
        count = min(count, tl.ceil_div((block + 1) * BM, BN))
    for j in range(count):
        key = keys.load([shared, j, 0]).reshape(BN, D)
        score = tl.mma(query, key.T, tl.zeros((BM, BN), f32)) * scale
        columns = (tl.arange(BN) + j * BN)[None, :]
        seen = columns < k.shape[1]
        if CAUSAL:
            seen = seen & (columns <= rows)
        score = tl.where(seen, score, tl.neg_inf)
        higher = tl.maximum(peak, tl.reduce_max(score, 1, keepdims=True))
        p = tl.exp(score - higher)
        fade = tl.exp(peak - higher)
        total = total * fade + tl.reduce_sum(p, 1, keepdims=True)
        acc = tl.mma(p, values.load([shared, j, 0]).reshape(BN, D), acc * fade)
        peak = higher
    out.store((acc / total).reshape(1, BM, D))


@tw.entry
def persistent_gemm(
    z: tl.MappedPartitionMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 16,
) -> None:
    """Each block visits many tiles of the result."""
    BM, BN = z.shape
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    for index in z.iter_indices():
        m, n = index
        acc = tl.zeros((BM, BN), f32)
        for k in range(tl.num_tiles(xs, 1)):
            acc = tl.mma(xs.load([m, k]), ys.load([k, n]), acc)
        z.store(acc, index)


class Case(NamedTuple):
    """A kernel, what makes its arguments out of something that makes tensors, and constants."""

    kernel: Any
    arguments: Callable[[Callable[..., Any]], tuple[Any, ...]]
    constants: dict[str, Any]

    def twin(self) -> Any:
        """The same source without any check."""
        make = tw.entry(unsafe=True, unchecked_accesses=True)
        return make(self.kernel.__wrapped__)


def example(module: str, name: str) -> Any:
    """A kernel of the examples."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return getattr(importlib.import_module(module), name)


def _attention(new: Callable[..., Any], heads: int = 4, shared: int = 4) -> tuple[Any, ...]:
    q, k = new((heads, 100, 32)), new((shared, 100, 32))
    return new((heads, 100, 32)).partition_mut((1, 32, 32)), q, k, new((shared, 100, 32)), 0.2


def cases() -> dict[str, Case]:
    """All of them, by name."""
    attention = example("flash_attention", "attention")
    return {
        "add": Case(
            example("vector_add", "add"),
            lambda new: (new((1000,)).partition_mut((64,)), new((1000,)), new((1000,))), {},
        ),
        "gemm": Case(
            example("gemm", "gemm"),
            lambda new: (new((130, 97)).partition_mut((64, 64)), new((130, 75)), new((75, 97))),
            {"BK": 32},
        ),
        "softmax": Case(
            example("softmax", "row_softmax"),
            lambda new: (new((37, 1000)).partition_mut((4, 1024)), new((37, 1000))), {},
        ),
        "rms norm": Case(
            example("rms_norm", "rms_norm"),
            lambda new: (
                new((50, 300)).partition_mut((8, 512)), new((50, 300)), new((300,)), 1e-6
            ), {},
        ),
        "batched matmul": Case(
            example("batch_matmul", "batch_matmul"),
            lambda new: (
                new((5, 40, 33)).partition_mut((2, 32, 32)), new((5, 40, 50), tw.f16),
                new((5, 50, 33), tw.f16),
            ), {},
        ),
        "attention": Case(attention, _attention, {}),
        "causal attention": Case(attention, _attention, {"CAUSAL": True}),
        "grouped attention": Case(
            grouped_attention, lambda new: _attention(new, 8, 2), {"CAUSAL": False}
        ),
        "causal grouped attention": Case(grouped_attention, lambda new: _attention(new, 8, 2), {}),
        "persistent gemm": Case(
            persistent_gemm,
            lambda new: (
                new((130, 97)).partition_mut((32, 32)).map((2, 1)), new((130, 75)), new((75, 97))
            ), {},
        ),
    }  # fmt: skip


NAMES = tuple(cases())
