"""Attention of many queries, and of few."""

from __future__ import annotations

from ..case import Data, Row, Shape, Tensor, settings
from ..data import dtype, empty, nbytes, normal, torch

HALVES = ["bfloat16", "float16"]
OURS = settings(queries=(64, 128, 64), keys=(64, 64, 128))
TRITON = settings(
    BM=(64, 128, 128, 128), BN=(64, 64, 128, 64), num_warps=(4, 4, 8, 8), num_stages=(3, 3, 2, 3)
)
SMALL = (4, 2, 75, 32)
SHAPES = [(64, 16, 1024, 128), (64, 16, 4096, 128), (40, 8, 3000, 128)]
WINDOW = 512


def _qkv(shape: Shape, kind: str, device: str) -> tuple[Tensor, Tensor, Tensor, float]:
    heads, shared, tokens, depth = shape
    q = normal(device, kind, heads, tokens, depth)
    k, v = (normal(device, kind, shared, tokens, depth) for _ in range(2))
    return q, k, v, float(depth**-0.5)


def _work(shape: Shape, keys: float) -> float:
    heads, _, tokens, depth = shape
    return 4.0 * heads * tokens * keys * depth


def _data(shape: Shape, kind: str, device: str, *more: object, keys: float) -> Data:
    q, k, v, scale = _qkv(shape, kind, device)
    tensors = [each for each in more if hasattr(each, "shape")]
    numbers = [each for each in more if not hasattr(each, "shape")]
    return Data(
        (q, k, v, *tensors, scale, *numbers), (empty(device, kind, *q.shape),),
        flops=_work(shape, keys), ours=OURS, triton=TRITON,
    )  # fmt: skip


def _make_prefill(shape: Shape, kind: str, device: str) -> Data:
    heads, _, tokens, depth = shape
    return _data((heads, heads, tokens, depth), kind, device, keys=tokens)


def _dot(q: Tensor, k: Tensor, v: Tensor, scale: float, **how: object) -> Tensor:
    attend = torch.nn.functional.scaled_dot_product_attention
    shared = q.shape[0] != k.shape[0]
    return attend(q[None], k[None], v[None], scale=scale, enable_gqa=shared, **how)[0]


def _prefill(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    return _dot(q, k, v, scale)


def _make_causal(shape: Shape, kind: str, device: str) -> Data:
    return _data(shape, kind, device, keys=shape[2] / 2)


def _causal(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    return _dot(q, k, v, scale, is_causal=True)


def _make_window(shape: Shape, kind: str, device: str) -> Data:
    window = WINDOW if shape[2] > WINDOW else 20
    return _data(shape, kind, device, window, keys=window)


def _distances(tokens: int, device: object) -> Tensor:
    numbers = torch.arange(tokens, device=device)
    return numbers[:, None] - numbers[None, :]


def _window(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int) -> Tensor:
    far = _distances(q.shape[1], q.device)
    return _dot(q, k, v, scale, attn_mask=(far >= 0) & (far < window))


def _make_sinks(shape: Shape, kind: str, device: str) -> Data:
    sinks = normal(device, "float32", shape[0])
    return _data(shape, kind, device, sinks, keys=shape[2] / 2)


def _sinks(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, scale: float) -> Tensor:
    """By a key of score 0 that a bias makes the sink, and whose value is 0."""
    group = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
    score = (q @ k.mT).to(sinks.dtype) * scale
    score = score.masked_fill(_distances(q.shape[1], q.device) < 0, float("-inf"))
    sink = sinks[:, None, None].expand(-1, q.shape[1], 1)
    p = torch.softmax(torch.cat((score, sink), 2), 2)[..., :-1]
    return p.to(v.dtype) @ v


def _make_decode(shape: Shape, kind: str, device: str) -> Data:
    heads, group, keys, depth = shape
    q = normal(device, kind, heads, group, depth)
    k, v = (normal(device, kind, heads, keys, depth) for _ in range(2))
    return Data(
        (q, k, v, float(depth**-0.5)), (empty(device, kind, *q.shape),), moved=nbytes(q, k, v, q),
        ours=settings(keys=(64, 128, 32)),
        triton=settings(
            BM=(16,) * 5, BN=(32, 64, 64, 128, 128), num_warps=(4, 4, 4, 4, 8),
            num_stages=(4, 3, 4, 2, 2),
        ),
    )  # fmt: skip


PAGE = 64


def _make_paged(shape: Shape, kind: str, device: str) -> Data:
    batch, heads, group, keys, depth = shape
    pages = -(-keys // PAGE)
    q = normal(device, kind, batch, heads, group, depth)
    k, v = (normal(device, kind, batch * pages, heads, PAGE, depth) for _ in range(2))
    order = torch.randperm(batch * pages, device=device)
    table = order.to(dtype("int32")).reshape(batch, pages)
    # From half of the keys to all of them, in no order.
    known = [keys - 37 * number % (keys // 2) for number in range(batch)]
    lengths = torch.tensor(known, dtype=dtype("int32"), device=device)
    used = float(sum(known)) * heads * depth * k.element_size() * 2
    return Data(
        (q, k, v, table, lengths, float(depth**-0.5)), (empty(device, kind, *q.shape),),
        moved=used + nbytes(q, q), ours=settings(queries=(8, 16)),
        triton=settings(num_warps=(2, 4, 4, 8), num_stages=(3, 2, 3, 3)),
    )  # fmt: skip


def _paged(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor, scale: float) -> Tensor:
    batch, pages = table.shape
    heads, depth = q.shape[1], q.shape[3]
    found = [
        t[table.reshape(-1)].reshape(batch, pages, heads, PAGE, depth).transpose(1, 2)
        .reshape(batch, heads, pages * PAGE, depth)
        for t in (k, v)
    ]  # fmt: skip
    numbers = torch.arange(pages * PAGE, device=q.device)
    seen = (numbers[None, :] < lengths[:, None])[:, None, None, :]
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, *found, attn_mask=seen, scale=scale)


ROWS = [
    Row("attention_prefill", "attention", SHAPES, HALVES, SMALL, _make_prefill, _prefill),
    Row("attention_causal", "attention", SHAPES, HALVES, SMALL, _make_causal, _causal),
    Row(
        "attention_window", "attention", [SHAPES[0], SHAPES[1], (32, 8, 10000, 128)], HALVES, SMALL,
        _make_window, _window,
    ),
    Row("attention_sinks", "attention", SHAPES, HALVES, SMALL, _make_sinks, _sinks),
    Row(
        "attention_decode", "attention",
        [(256, 8, 2048, 128), (512, 8, 4096, 128), (300, 5, 3000, 128)], HALVES, (4, 5, 75, 32),
        _make_decode, _prefill,
    ),
    Row(
        "attention_paged", "attention",
        [(32, 8, 8, 2048, 128), (64, 8, 8, 4096, 128), (50, 8, 5, 3000, 128)], HALVES,
        (3, 2, 5, 150, 32), _make_paged, _paged,
    ),
]  # fmt: skip
