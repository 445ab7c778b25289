"""Losses over rows of classes."""

from __future__ import annotations

from typing import Any

import tilewright as tw

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, integers, normal, torch, wider

WIDE = [(8192, 16384), (4096, 32768), (2048, 50257)]
FLOATS = ["bfloat16", "float32"]
SMALL = (37, 300)
LOOPS = settings(rows=(1, 1, 4), step=(4096, 2048, 1024))
BLOCKS = settings(BLOCK=(1024, 2048, 4096, 8192, 8192), num_warps=(4, 4, 8, 8, 16))


def _logits(shape: Shape, kind: str, device: str) -> tuple[Tensor, Tensor]:
    target = integers(device, 0, shape[1], shape[0])
    return normal(device, kind, *shape, scale=3.0), target


def _make_cross_entropy(shape: Shape, kind: str, device: str) -> Data:
    outs = tuple(empty(device, "float32", shape[0]) for _ in range(2))
    steps = settings(step=(4096, 2048, 1024))
    return Data(_logits(shape, kind, device), outs, ours=steps, triton=BLOCKS)


def _cross_entropy(x: Tensor, target: Tensor) -> Any:
    wide = wider(x)
    lse = torch.logsumexp(wide, 1)
    return lse - wide.gather(1, target.long()[:, None])[:, 0], lse


def _make_backward(shape: Shape, kind: str, device: str) -> Data:
    x, target = _logits(shape, kind, device)
    given = x, target, torch.logsumexp(x.float(), 1), 2.0
    tiles = settings(tile=[(1, 1024), (1, 4096), (4, 1024)])
    return Data(given, (empty(device, kind, *shape),), ours=tiles, triton=BLOCKS)


def _cross_entropy_backward(x: Tensor, target: Tensor, lse: Tensor, scale: float) -> Tensor:
    p = (wider(x) - lse[:, None]).exp()
    columns = torch.arange(x.shape[1], device=x.device)
    return ((p - (columns == target[:, None]).to(p.dtype)) * scale).to(x.dtype)


def _make_kl(shape: Shape, kind: str, device: str) -> Data:
    both = tuple(torch.log_softmax(normal(device, kind, *shape), 1) for _ in range(2))
    return Data(both, (empty(device, "float32", shape[0]),), ours=LOOPS, triton=BLOCKS)


def _kl_divergence(x: Tensor, target: Tensor) -> Tensor:
    log_p, log_q = wider(x), wider(target)
    return (log_q.exp() * (log_q - log_p)).sum(1)


def _make_log_softmax(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape, scale=3.0)
    return Data(
        (x,), (empty(device, kind, *shape),),
        ours=settings(tile=[(1, tw.FULL), (2, tw.FULL), (4, tw.FULL)]),
        triton=settings(num_warps=(2, 4, 8, 16)),
    )  # fmt: skip


def _log_softmax(x: Tensor) -> Tensor:
    return torch.log_softmax(x, 1)


ROWS = [
    Row("cross_entropy", "losses", WIDE, FLOATS, SMALL, _make_cross_entropy, _cross_entropy),
    Row(
        "cross_entropy_backward", "losses", WIDE, FLOATS, SMALL, _make_backward,
        _cross_entropy_backward,
    ),
    Row("kl_divergence", "losses", WIDE, FLOATS, SMALL, _make_kl, _kl_divergence),
    Row(
        "log_softmax", "losses", [(16384, 1024), (16384, 4096), (8000, 5000)], FLOATS, SMALL,
        _make_log_softmax, _log_softmax,
    ),
]  # fmt: skip
