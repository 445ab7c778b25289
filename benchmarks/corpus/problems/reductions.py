"""Reductions along each axis, and of everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch, wider

SHAPES = [(16384, 4096), (8192, 16384), (10000, 10007)]
FLOATS = ["bfloat16", "float32"]
SMALL = (37, 300)
LOOPS = settings(rows=(1, 4, 8), step=(4096, 1024, 512))
BLOCKS = settings(BM=(1, 1, 4, 8, 16), BN=(4096, 2048, 1024, 512, 256), num_warps=(8, 4, 4, 4, 4))
COLUMNS = settings(columns=(64, 128, 32), step=(64, 32, 128))
TALL = settings(BM=(32, 64, 32, 64, 128), BN=(64, 64, 128, 32, 32), num_warps=(4, 8, 4, 4, 8))


def _make_sum_rows(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data((x,), (empty(device, "float32", shape[0]),), ours=LOOPS, triton=BLOCKS)


def _sum_rows(x: Tensor) -> Tensor:
    return x.sum(1, dtype=wider(x[:0]).dtype)


def _make_column_moments(shape: Shape, kind: str, device: str) -> Data:
    outs = tuple(empty(device, "float32", shape[1]) for _ in range(2))
    return Data((normal(device, kind, *shape),), outs, ours=COLUMNS, triton=TALL)


def _column_moments(x: Tensor) -> Any:
    variance, mean = torch.var_mean(wider(x), 0, correction=0)
    return mean, variance


def _make_sum_middle(shape: Shape, kind: str, device: str) -> Data:
    out = empty(device, "float32", shape[0], shape[2])
    return Data((normal(device, kind, *shape),), (out,), ours=COLUMNS, triton=TALL)


def _sum_middle(x: Tensor) -> Tensor:
    return x.sum(1, dtype=wider(x[:0]).dtype)


def _make_sum_all(shape: Shape, kind: str, device: str) -> Data:
    out, part = empty(device, "float32", 1), empty(device, "float32", 1024)
    return Data(
        (normal(device, kind, *shape),), (out,), (part,),
        ours=settings(step=(1024, 2048, 4096)),
        triton=settings(BLOCK=(1024, 2048, 4096, 8192), num_warps=(4, 4, 8, 8)),
    )  # fmt: skip


def _sum_all(x: Tensor) -> Tensor:
    return x.sum(dtype=wider(x[:0]).dtype).reshape(1)


def _check_sum(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """The error in parts of the sum of all magnitudes."""
    x = inputs[0].double()
    return float((found[0].double() - x.sum()).abs() / x.abs().sum())


def _make_argmax(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data((x,), (empty(device, "int32", shape[0]),), ours=LOOPS, triton=BLOCKS)


def _argmax_rows(x: Tensor) -> Tensor:
    return x.argmax(1).int()


def _check_argmax(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """The elements found are the largest; which of equals is not asked."""
    x, index = inputs[0], found[0].long()
    if bool(((index < 0) | (index >= x.shape[1])).any()):
        return 1e9
    return float((x.gather(1, index[:, None])[:, 0] - x.amax(1)).abs().max())


ROWS = [
    Row("sum_rows", "reductions", SHAPES, FLOATS, SMALL, _make_sum_rows, _sum_rows),
    Row(
        "column_moments", "reductions", SHAPES, FLOATS, SMALL, _make_column_moments,
        _column_moments,
    ),
    Row(
        "sum_middle", "reductions", [(64, 512, 2048), (128, 1024, 1024), (100, 999, 1000)],
        FLOATS, (3, 70, 100), _make_sum_middle, _sum_middle,
    ),
    Row(
        "sum_all", "reductions", [(1 << 24,), (1 << 27,), (100_000_007,)], FLOATS, (5003,),
        _make_sum_all, _sum_all, check=_check_sum, tolerance=1e-5, exact=1e-5,
    ),
    Row(
        "argmax_rows", "reductions", SHAPES, FLOATS, SMALL, _make_argmax, _argmax_rows,
        check=_check_argmax,
    ),
]  # fmt: skip
