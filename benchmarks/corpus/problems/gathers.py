"""Gathers, scatter-adds and histograms."""

from __future__ import annotations

from ..case import Data, Row, Shape, Tensor, settings
from ..cpu_shapes import cpu_shapes
from ..data import empty, integers, nbytes, normal, torch, wider

FLOATS = ["bfloat16", "float32"]
TILES = settings(tile=[(1, 1024), (4, 512), (16, 128)])
BLOCKS = settings(BM=(1, 1, 4, 16, 8), BN=(1024, 2048, 512, 128, 256), num_warps=(4, 4, 4, 4, 4))
SMALL = (50, 37, 200)


def _make_embedding(shape: Shape, kind: str, device: str) -> Data:
    words, tokens, depth = shape
    rows = integers(device, 0, words, tokens)
    out = empty(device, kind, tokens, depth)
    table = normal(device, kind, words, depth)
    return Data((table, rows), (out,), moved=2 * nbytes(out), ours=TILES, triton=BLOCKS)


def _embedding(table: Tensor, rows: Tensor) -> Tensor:
    return table[rows]


def _make_embedding_backward(shape: Shape, kind: str, device: str) -> Data:
    words, tokens, depth = shape
    dy, rows = normal(device, kind, tokens, depth), integers(device, 0, words, tokens)
    out = empty(device, "float32", words, depth)
    moved = 2 * nbytes(out) + nbytes(dy)
    return Data((dy, rows), (out,), moved=moved, ours=TILES, triton=BLOCKS)


def _embedding_backward_for(words: int, dy: Tensor, rows: Tensor) -> Tensor:
    wide = wider(dy)
    return wide.new_zeros(words, dy.shape[1]).index_add_(0, rows, wide)


def _embedding_backward(dy: Tensor, rows: Tensor) -> Tensor:
    return _embedding_backward_for(WORDS[dy.shape[0]], dy, rows)


TABLES = [(32000, 16384, 1024), (32000, 32768, 2048), (50257, 20000, 1280)]
WORDS = {
    tokens: words
    for words, tokens, _ in (*TABLES, *cpu_shapes("embedding_backward", "gathers"), SMALL)
}
"""How many rows the table has, by the number of tokens."""


def _make_combine(shape: Shape, kind: str, device: str) -> Data:
    tokens, each, depth = shape
    x = normal(device, kind, tokens * each, depth)
    rows = torch.randperm(tokens * each, device=device).int().reshape(tokens, each)
    weights = normal(device, "float32", tokens, each)
    return Data(
        (x, rows, weights), (empty(device, kind, tokens, depth),), ours=TILES, triton=BLOCKS
    )


def _combine(x: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    made = wider(x)[rows.reshape(-1)].reshape(*rows.shape, -1)
    return (made * weights[:, :, None]).sum(1).to(x.dtype)


def _make_histogram(shape: Shape, kind: str, device: str) -> Data:
    x = integers(device, 0, 256, *shape, kind=kind)
    return Data(
        (x,), (empty(device, "int32", 256),), ours=settings(blocks=(512, 1024, 2048)),
        triton=settings(
            BLOCK=(1024, 1024, 2048, 4096), STEPS=(4, 16, 16, 16), num_warps=(4, 4, 4, 8)
        ),
    )  # fmt: skip


def _histogram(x: Tensor) -> Tensor:
    return torch.bincount(x, minlength=256).int()


def _make_take(shape: Shape, kind: str, device: str) -> Data:
    rows, columns, taken = shape
    x, out = normal(device, kind, rows, columns), empty(device, kind, rows, taken)
    numbers = integers(device, 0, columns, taken)
    return Data(
        (x, numbers), (out,), moved=2 * nbytes(out),
        ours=settings(tile=[(4, 512), (16, 128), (1, 1024)]), triton=BLOCKS,
    )  # fmt: skip


def _take_columns(x: Tensor, columns: Tensor) -> Tensor:
    return torch.index_select(x, 1, columns)


ROWS = [
    Row("embedding", "gathers", TABLES, FLOATS, SMALL, _make_embedding, _embedding),
    Row(
        "embedding_backward", "gathers", TABLES, FLOATS, SMALL, _make_embedding_backward,
        _embedding_backward, exact=1e-4,
    ),
    Row(
        "combine_experts", "gathers", [(8192, 2, 4096), (16384, 8, 2048), (10000, 8, 2880)],
        FLOATS, (37, 4, 200), _make_combine, _combine,
    ),
    Row(
        "histogram", "gathers", [(1 << 24,), (1 << 26,), (50_000_003,)], ["int32"], (5003,),
        _make_histogram, _histogram, exact=0.0 + 1e-12,
    ),
    Row(
        "take_columns", "gathers", [(8192, 4096, 2048), (8192, 8192, 4096), (5000, 10000, 5000)],
        FLOATS, (37, 200, 100), _make_take, _take_columns,
    ),
]  # fmt: skip
