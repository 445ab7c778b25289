"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, integers, nbytes, normal, torch

HALVES = ["bfloat16", "float16"]
SHAPES = [(2048, 2048, 2048), (4096, 4096, 4096), (3000, 5120, 2880)]
"""Rows, columns, and the inner axis."""
SMALL = (75, 97, 150)
OURS = settings(tile=[(128, 128), (128, 256), (64, 128)], step=(64, 64, 64))
TRITON = settings(
    BM=(128, 128, 128, 256, 64), BN=(128, 256, 256, 128, 128), BK=(64, 64, 64, 64, 64),
    num_warps=(4, 8, 8, 8, 4), num_stages=(4, 3, 4, 3, 4),
)  # fmt: skip
SMALL_TILES = settings(tile=[(64, 64), (128, 128), (64, 128)], step=(64, 64, 64))
SMALL_TRITON = settings(
    BM=(64, 128, 64, 64, 128), BN=(64, 128, 128, 64, 64), BK=(64, 64, 64, 32, 64),
    num_warps=(4, 4, 4, 4, 4), num_stages=(3, 3, 3, 4, 3),
)  # fmt: skip
FEW_ROWS = settings(tile=[(16, 64), (16, 128), (64, 64)], step=(128, 128, 128))
FEW_TRITON = settings(
    BM=(16, 16, 16, 64, 16), BN=(64, 128, 64, 64, 32), BK=(128, 128, 256, 128, 256),
    num_warps=(4, 4, 4, 4, 4), num_stages=(4, 3, 3, 3, 4),
)  # fmt: skip


def _data(
    given: Sequence[Any], out: Tensor, work: float, ours: Any = OURS, triton: Any = TRITON,
    scratch: tuple[Tensor, ...] = (),
) -> Data:  # fmt: skip
    return Data(tuple(given), (out,), scratch, flops=work, ours=ours, triton=triton)


def _pair(shape: Shape, kind: str, device: str) -> tuple[Tensor, Tensor, Tensor, float]:
    m, n, k = shape
    x, w = normal(device, kind, m, k), normal(device, kind, k, n, scale=k**-0.5)
    return x, w, empty(device, kind, m, n), 2.0 * m * n * k


def _make_bias_gelu(shape: Shape, kind: str, device: str) -> Data:
    x, w, out, work = _pair(shape, kind, device)
    return _data((x, w, normal(device, kind, shape[1])), out, work)


def _bias_gelu(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return torch.nn.functional.gelu(torch.addmm(bias, x, w), approximate="tanh")


def _make_residual(shape: Shape, kind: str, device: str) -> Data:
    x, w, out, work = _pair(shape, kind, device)
    return _data((x, w.T.contiguous(), normal(device, kind, *out.shape), 0.5), out, work)


def _residual(x: Tensor, w: Tensor, residual: Tensor, alpha: float) -> Tensor:
    return torch.addmm(residual, x, w.T, alpha=alpha)


def _make_gradient(shape: Shape, kind: str, device: str) -> Data:
    x, w, out, work = _pair(shape, kind, device)
    return _data((x.T.contiguous(), w), out, work)


def _gradient(x: Tensor, y: Tensor) -> Tensor:
    return x.T @ y


def _make_swiglu(shape: Shape, kind: str, device: str) -> Data:
    x, gate, out, work = _pair(shape, kind, device)
    up = normal(device, kind, *gate.shape, scale=shape[2] ** -0.5)
    return _data(
        (x, gate, up), out, 2 * work,
        settings(tile=[(64, 128), (128, 128), (128, 64)], step=(64, 64, 64)),
        settings(
            BM=(64, 128, 128, 128), BN=(128, 128, 128, 64), BK=(64, 64, 32, 64),
            num_warps=(4, 8, 8, 4), num_stages=(3, 3, 4, 3),
        ),
    )  # fmt: skip


def _swiglu(x: Tensor, gate: Tensor, up: Tensor) -> Tensor:
    return torch.nn.functional.silu(x @ gate) * (x @ up)


def _make_batched(shape: Shape, kind: str, device: str) -> Data:
    batch, m, n, k = shape
    x, y = normal(device, kind, batch, m, k), normal(device, kind, batch, k, n, scale=k**-0.5)
    out = empty(device, kind, batch, m, n)
    moved = nbytes(x, y, out)
    return Data((x, y), (out,), moved=moved, ours=SMALL_TILES, triton=SMALL_TRITON)


def _product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def _make_grouped(shape: Shape, kind: str, device: str) -> Data:
    tiles, experts, n, k = shape
    x, w = normal(device, kind, tiles * 128, k), normal(device, kind, experts, k, n, scale=k**-0.5)
    owners = integers(device, 0, experts, tiles).sort().values
    out = empty(device, kind, tiles * 128, n)
    fitting = [each for each in TRITON if each["BM"] <= 128]
    return _data((x, w, owners), out, 2.0 * tiles * 128 * n * k, OURS, fitting)


def _grouped(x: Tensor, w: Tensor, owners: Tensor) -> Tensor:
    """One product per expert: what torch can do without knowing the groups beforehand."""
    ends = torch.bincount(owners, minlength=w.shape[0]).cumsum(0).tolist()
    parts = [
        x[a * 128 : b * 128] @ w[e]
        for e, (a, b) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
    ]
    return torch.cat(parts)


def _make_gathered(shape: Shape, kind: str, device: str) -> Data:
    x, w, out, work = _pair(shape, kind, device)
    rows = integers(device, 0, shape[0], shape[0])
    return _data((x, rows, w), out, work)


def _gathered(x: Tensor, rows: Tensor, w: Tensor) -> Tensor:
    return x[rows] @ w


SPLITS = 16


def _make_split(shape: Shape, kind: str, device: str) -> Data:
    x, w, out, work = _pair(shape, kind, device)
    parts = empty(device, "float32", SPLITS, shape[0], shape[1])
    few = shape[0] <= 64
    ours, triton = (FEW_ROWS, FEW_TRITON) if few else (SMALL_TILES, SMALL_TRITON)
    return _data((x, w), out, work, ours, triton, (parts,))


ROWS = [
    Row("gemm_bias_gelu", "products", SHAPES, HALVES, SMALL, _make_bias_gelu, _bias_gelu),
    Row("gemm_residual", "products", SHAPES, HALVES, SMALL, _make_residual, _residual),
    Row("gemm_weight_gradient", "products", SHAPES, HALVES, SMALL, _make_gradient, _gradient),
    Row("gemm_swiglu", "products", SHAPES, HALVES, SMALL, _make_swiglu, _swiglu),
    Row(
        "gemm_batched", "products",
        [(2048, 64, 64, 64), (1024, 128, 128, 128), (1500, 100, 120, 96)], HALVES,
        (3, 75, 97, 150), _make_batched, _product,
    ),
    Row(
        "gemm_grouped", "products",
        [(32, 8, 2048, 2048), (64, 16, 4096, 2048), (50, 32, 2880, 2880)], HALVES,
        (3, 2, 97, 150), _make_grouped, _grouped,
    ),
    Row("gemm_gathered", "products", SHAPES, HALVES, SMALL, _make_gathered, _gathered),
    Row(
        "gemm_split_k", "products", [(128, 256, 16384), (64, 512, 32768), (100, 300, 20000)],
        HALVES, (37, 97, 500), _make_split, _product,
    ),
]  # fmt: skip
