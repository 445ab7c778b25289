"""Convolutions."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _conv1d(out, x, w, bias, T, C, WIDTH: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    steps = tl.program_id(1) * BT + tl.arange(0, BT)
    channels = tl.program_id(2) * BC + tl.arange(0, BC)
    kept = channels < C
    total = tl.zeros((BT, BC), tl.float32)
    total += tl.load(bias + channels, kept, other=0.0)[None, :].to(tl.float32)
    for k in tl.static_range(WIDTH):
        at = steps + k - (WIDTH - 1)
        inside = ((at >= 0) & (at < T))[:, None] & kept[None, :]
        tile = tl.load(x + (b * T + at[:, None]) * C + channels[None, :], inside, other=0.0)
        weight = tl.load(w + k * C + channels, kept, other=0.0)[None, :].to(tl.float32)
        total += tile.to(tl.float32) * weight
    result = (total * tl.sigmoid(total)).to(out.dtype.element_ty)
    where = out + (b * T + steps[:, None]) * C + channels[None, :]
    tl.store(where, result, (steps < T)[:, None] & kept[None, :])


def conv1d_causal(out, x, w, bias, *, BT, BC, num_warps):
    B, T, C = x.shape
    _conv1d[(B, triton.cdiv(T, BT), triton.cdiv(C, BC))](
        out, x, w, bias, T, C, w.shape[0], BT, BC, num_warps=num_warps
    )


@triton.jit
def _conv2d(
    out, x, w, P, H, W, C, F, SIZE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    pixels = tl.program_id(0) * BM + tl.arange(0, BM)
    filters = tl.program_id(1) * BN + tl.arange(0, BN)
    b, h, column = pixels // (H * W), pixels // W % H, pixels % W
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for tap in range(SIZE * SIZE):
        y, z = h + tap // SIZE - SIZE // 2, column + tap % SIZE - SIZE // 2
        seen = (pixels < P) & (y >= 0) & (y < H) & (z >= 0) & (z < W)
        start = x + (((b * H + y) * W + z).to(tl.int64) * C)[:, None]
        for k in range(0, C, BK):
            at = k + ks
            left = tl.load(start + at[None, :], seen[:, None] & (at < C)[None, :], other=0.0)
            right = tl.load(
                w + (tap * C + at[:, None]) * F + filters[None, :],
                (at < C)[:, None] & (filters < F)[None, :], other=0.0,
            )  # fmt: skip
            acc = tl.dot(left, right, acc)
    inside = (pixels < P)[:, None] & (filters < F)[None, :]
    where = out + pixels[:, None].to(tl.int64) * F + filters[None, :]
    tl.store(where, acc.to(out.dtype.element_ty), inside)


def conv2d(out, x, w, *, BM, BN, BK, num_warps, num_stages):
    B, H, W, C = x.shape
    F = w.shape[3]
    P = B * H * W
    _conv2d[(triton.cdiv(P, BM), triton.cdiv(F, BN))](
        out, x, w, P, H, W, C, F, w.shape[0], BM, BN, BK,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip


@triton.jit
def _depthwise(out, x, w, H, W, C, BW: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0)
    b, h = (row // H).to(tl.int64), row % H
    columns = tl.program_id(1) * BW + tl.arange(0, BW)
    channels = tl.program_id(2) * BC + tl.arange(0, BC)
    kept = (channels < C)[None, :]
    total = tl.zeros((BW, BC), tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            y, z = h + dy - 1, columns + dx - 1
            y_of = tl.zeros((BW,), tl.int32) + y
            inside = ((y_of >= 0) & (y_of < H) & (z >= 0) & (z < W))[:, None] & kept
            where = ((b * H + y) * W + z[:, None]) * C + channels[None, :]
            tile = tl.load(x + where, inside, other=0.0).to(tl.float32)
            weight = tl.load(w + (dy * 3 + dx) * C + channels, channels < C, other=0.0)
            total += tile * weight[None, :].to(tl.float32)
    where = out + ((b * H + h) * W + columns[:, None]) * C + channels[None, :]
    tl.store(where, total.to(out.dtype.element_ty), (columns < W)[:, None] & kept)


def conv2d_depthwise(out, x, w, *, BW, BC, num_warps):
    B, H, W, C = x.shape
    _depthwise[(B * H, triton.cdiv(W, BW), triton.cdiv(C, BC))](
        out, x, w, H, W, C, BW, BC, num_warps=num_warps
    )
