"""Attention of many queries, and of few."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _attention(
    out, q, k, v, sinks, scale, tokens, keys, group, WINDOW, BM: tl.constexpr, BN: tl.constexpr,
    D: tl.constexpr, CAUSAL: tl.constexpr, LOCAL: tl.constexpr, SINK: tl.constexpr,
):  # fmt: skip
    i, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows, depth = i * BM + tl.arange(0, BM), tl.arange(0, D)
    where = (head * tokens + rows[:, None]) * D + depth[None, :]
    query = tl.load(q + where, (rows < tokens)[:, None], other=0.0)
    k += head // group * keys * D
    v += head // group * keys * D
    factor = scale * 1.4426950408889634
    if SINK:
        peak = tl.zeros((BM,), tl.float32) + tl.load(sinks + head) * 1.4426950408889634
        total = tl.full((BM,), 1.0, tl.float32)
    else:
        peak = tl.full((BM,), -1e30, tl.float32)
        total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    stop = tl.minimum(keys, (i + 1) * BM) if CAUSAL else keys
    first = tl.maximum(0, (i * BM - WINDOW + 1) // BN * BN) if LOCAL else 0
    for j in range(first, stop, BN):
        at = j + tl.arange(0, BN)
        key = tl.load(k + at[None, :] * D + depth[:, None], (at < keys)[None, :], other=0.0)
        score = tl.dot(query, key) * factor
        seen = (at < keys)[None, :]
        if CAUSAL:
            seen = seen & (at[None, :] <= rows[:, None])
        if LOCAL:
            seen = seen & (at[None, :] > rows[:, None] - WINDOW)
        score = tl.where(seen, score, -1e30)
        higher = tl.maximum(peak, tl.max(score, 1))
        p = tl.exp2(score - higher[:, None])
        fade = tl.exp2(peak - higher)
        total = total * fade + tl.sum(p, 1)
        value = tl.load(v + at[:, None] * D + depth[None, :], (at < keys)[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype.element_ty), value, acc * fade[:, None])
        peak = higher
    result = (acc / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + where, result, (rows < tokens)[:, None])


def _launch(out, q, k, v, sinks, scale, window, causal, BM, BN, num_warps, num_stages):
    heads, tokens, D = q.shape
    _attention[(triton.cdiv(tokens, BM), heads)](
        out, q, k, v, sinks, scale, tokens, k.shape[1], heads // k.shape[0], window, BM, BN, D,
        causal, window > 0, sinks is not q, num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip


def attention_prefill(out, q, k, v, scale, **how):
    _launch(out, q, k, v, q, scale, 0, False, **how)


def attention_causal(out, q, k, v, scale, **how):
    _launch(out, q, k, v, q, scale, 0, True, **how)


def attention_window(out, q, k, v, scale, window, **how):
    _launch(out, q, k, v, q, scale, window, True, **how)


def attention_sinks(out, q, k, v, sinks, scale, **how):
    _launch(out, q, k, v, sinks, scale, 0, True, **how)


def attention_decode(out, q, k, v, scale, **how):
    _launch(out, q, k, v, q, scale, 0, False, **how)


@triton.jit
def _paged(
    out, q, k, v, table, lengths, scale, heads, group, width,
    BM: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    b, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    rows, depth, columns = tl.arange(0, BM), tl.arange(0, D), tl.arange(0, PAGE)
    where = ((b * heads + head) * group + rows[:, None]) * D + depth[None, :]
    query = tl.load(q + where, (rows < group)[:, None], other=0.0)
    length = tl.load(lengths + b)
    factor = scale * 1.4426950408889634
    peak = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for j in range(tl.cdiv(length, PAGE)):
        page = tl.load(table + b * width + j).to(tl.int64)
        start = (page * heads + head) * PAGE * D
        key = tl.load(k + start + columns[None, :] * D + depth[:, None])
        score = tl.dot(query, key) * factor
        score = tl.where((j * PAGE + columns < length)[None, :], score, -1e30)
        higher = tl.maximum(peak, tl.max(score, 1))
        p = tl.exp2(score - higher[:, None])
        fade = tl.exp2(peak - higher)
        total = total * fade + tl.sum(p, 1)
        value = tl.load(v + start + columns[:, None] * D + depth[None, :])
        acc = tl.dot(p.to(v.dtype.element_ty), value, acc * fade[:, None])
        peak = higher
    result = (acc / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + where, result, (rows < group)[:, None])


def attention_paged(out, q, k, v, table, lengths, scale, *, num_warps, num_stages):
    B, heads, group, D = q.shape
    _paged[(B, heads)](
        out, q, k, v, table, lengths, scale, heads, group, table.shape[1], 16, k.shape[2], D,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
