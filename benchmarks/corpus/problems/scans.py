"""Scans and sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tilewright as tw

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch, wider

FLOATS = ["bfloat16", "float32"]
WHOLE = settings(tile=[(1, tw.FULL), (2, tw.FULL), (4, tw.FULL)])
WARPS = settings(num_warps=(2, 4, 8, 16))
CHOSEN = 8


def _make_cumsum_rows(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data((x,), (empty(device, kind, *shape),), ours=WHOLE, triton=WARPS)


def _cumsum_rows(x: Tensor) -> Tensor:
    return x.cumsum(1)


def _make_cumsum_columns(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data(
        (x,), (empty(device, kind, *shape),),
        ours=settings(columns=(32, 64, 16), step=(64, 32, 128)),
        triton=settings(BM=(64, 32, 128, 64), BN=(32, 64, 16, 16), num_warps=(4, 4, 4, 4)),
    )  # fmt: skip


def _cumsum_columns(x: Tensor) -> Tensor:
    return x.cumsum(0)


def _make_recurrence(shape: Shape, kind: str, device: str) -> Data:
    a = torch.sigmoid(normal(device, kind, *shape) + 2)
    return Data(
        (a, normal(device, kind, *shape)), (empty(device, kind, *shape),),
        ours=settings(columns=(64, 128, 256)),
        triton=settings(BLOCK=(32, 64, 128, 256), num_warps=(1, 2, 4, 4)),
    )  # fmt: skip


def _recurrence(a: Tensor, x: Tensor) -> Tensor:
    """Products of decays for distances of powers of two: log2(T) passes, as torch would do it."""
    decay, state, far = wider(a), wider(x), 1
    while far < x.shape[0]:
        more = torch.cat((torch.zeros_like(state[:far]), state[:-far]))
        fade = torch.cat((torch.ones_like(decay[:far]), decay[:-far]))
        state = state + decay * more
        decay = decay * fade
        far *= 2
    return state.to(x.dtype)


def _make_sort(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data((x,), (empty(device, kind, *shape),), ours=WHOLE, triton=WARPS)


def _sort_rows(x: Tensor) -> Tensor:
    return x.sort(1).values


def _make_topk(shape: Shape, kind: str, device: str) -> Data:
    outs = empty(device, "float32", shape[0], CHOSEN), empty(device, "int32", shape[0], CHOSEN)
    return Data(
        (normal(device, kind, *shape),), outs, ours=settings(rows=(1, 4, 16)),
        triton=settings(BM=(1, 4, 8, 16), num_warps=(1, 2, 4, 4)),
    )  # fmt: skip


def _topk_gate(x: Tensor) -> Any:
    top, where = x.topk(CHOSEN, 1)
    return torch.softmax(wider(top), 1), where.int()


def _check_topk(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """Weights are right, and so are the scores at the places; which of equals is not asked."""
    expected, places = _topk_gate(inputs[0].double())
    if bool(((found[1] < 0) | (found[1] >= inputs[0].shape[1])).any()):
        return 1e9
    mine, right = (inputs[0].gather(1, p.long()).float() for p in (found[1], places))
    return max(float((found[0] - expected).abs().max()), float((mine - right).abs().max()))


ROWS = [
    Row(
        "cumsum_rows", "scans", [(16384, 2048), (8192, 8192), (8192, 5000)], FLOATS, (37, 300),
        _make_cumsum_rows, _cumsum_rows,
    ),
    Row(
        "cumsum_columns", "scans", [(2048, 16384), (4096, 16384), (3000, 20000)], FLOATS, (70, 37),
        _make_cumsum_columns, _cumsum_columns,
    ),
    Row(
        "recurrence", "scans", [(1024, 16384), (2048, 32768), (1500, 30000)], FLOATS, (40, 100),
        _make_recurrence, _recurrence,
    ),
    Row(
        "sort_rows", "scans", [(32768, 256), (16384, 1024), (16384, 1000)], ["float32", "bfloat16"],
        (37, 50), _make_sort, _sort_rows,
    ),
    Row(
        "topk_gate", "scans", [(16384, 64), (32768, 256), (20000, 160)], FLOATS, (37, 50),
        _make_topk, _topk_gate, check=_check_topk,
    ),
]  # fmt: skip
