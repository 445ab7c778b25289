"""The rows of the GPU benchmark: which problems, who takes part, and how fast we want to be."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from tilewright.base.shapes import Shape

from .. import kernels, peers
from ..case import NotAvailable
from .case import (
    COPY,
    CUTILE,
    HINTED,
    OURS,
    PERSISTENT,
    TORCH,
    TRITON,
    Case,
    Entry,
    Row,
    Settings,
    Tensor,
)
from .ours import entry

EPS = 1e-5
Hints: TypeAlias = Mapping[str, int | bool]

COPY_GOAL = {COPY: 0.95}
PEERS = {TRITON: "triton_kernels", CUTILE: "cutile_kernels"}


def _random(*shape: int, dtype: str) -> Tensor:
    lib = peers.torch()
    return lib.randn(shape, device="cuda", dtype=lib.float32).to(getattr(lib, dtype))


def _poison(like: Tensor, *shape: int) -> Tensor:
    return like.new_full(shape or like.shape, float("nan"))


def _torch(run: Callable[[], Tensor]) -> Settings:
    """A library call that makes its own result."""

    def settings() -> list[Entry]:
        return [Entry(run, run())]

    return settings


def _others(work: str, out: Tensor, *args: Any) -> dict[str, Settings]:
    """The same work in the other kernel languages."""

    def settings(module: str) -> list[Entry]:
        try:
            found = importlib.import_module(f".{module}", __package__)
        except ImportError as error:
            raise NotAvailable(str(error)) from None
        made: list[Entry] = getattr(found, work)(_poison(out), *args)
        return made

    return {name: partial(settings, module) for name, module in PEERS.items()}


def _copied(x: Tensor) -> dict[str, Settings]:
    """The device's own copy of as much memory: what can be reached."""
    out = _poison(x)
    return {COPY: lambda: [Entry(lambda: out.copy_(x), out)]}


def _ours(kernel: Any, out: Tensor, *args: Any, tiles: Sequence[Shape], **how: Any) -> Settings:
    """A kernel of ours, as it is, with one of a few tile shapes."""

    def settings() -> list[Entry]:
        target = _poison(out)
        return [entry(kernel, target, tile, *args, **how) for tile in tiles]

    return settings


def _hinted(
    kernel: Any, out: Tensor, *args: Any, tiles: Sequence[Shape], hints: Sequence[Hints], **how: Any
) -> dict[str, Settings]:
    """The same with hints, to see what they would gain."""

    def settings() -> list[Entry]:
        target = _poison(out)
        return [
            entry(kernel, target, tile, *args, options=given, **how)
            for tile in tiles
            for given in hints
        ]

    return {HINTED: settings}


def _hints(*pairs: tuple[int, int]) -> list[Hints]:
    """Hints from warps and occupancies."""
    return [{"num_worker_warps_per_cta": warps, "occupancy": blocks} for warps, blocks in pairs]


# --- memory --------------------------------------------------------------------------------------


ADDED = [(1024,), (2048,), (4096,)]


def _add(n: int, dtype: str) -> Case:
    x, y = (_random(n, dtype=dtype) for _ in range(2))
    contestants = {
        OURS: _ours(kernels.add, x, x, y, tiles=ADDED),
        **_hinted(kernels.add, x, x, y, tiles=ADDED, hints=_hints((4, 4), (8, 4))),
        TORCH: _torch(lambda: x + y),
        **_others("add", x, x, y),
    }
    return Case(contestants, lambda: x + y, 1e-2)


def _row_tiles(n: int) -> list[Shape]:
    """Whole rows, a few of them where they are short."""
    return list(dict.fromkeys((max(1, size // n), n) for size in (2048, 4096, 8192)))


ROW_HINTS = _hints((4, 4), (8, 4), (8, 2))


def _row_contestants(kernel: Any, x: Tensor, *args: Any) -> dict[str, Settings]:
    tiles = _row_tiles(x.shape[1])
    return {
        OURS: _ours(kernel, x, x, *args, tiles=tiles),
        **_hinted(kernel, x, x, *args, tiles=tiles, hints=ROW_HINTS),
    }


def _softmax(rows: int, n: int, dtype: str) -> Case:
    x, lib = _random(rows, n, dtype=dtype), peers.torch()
    contestants = {
        **_row_contestants(kernels.softmax, x),
        TORCH: _torch(lambda: lib.softmax(x, 1)),
        **_others("softmax", x, x),
        **_copied(x),
    }
    return Case(contestants, lambda: lib.softmax(x.float(), 1), 1e-2)


def _rms_norm(rows: int, n: int, dtype: str) -> Case:
    x, weight = _random(rows, n, dtype=dtype), _random(n, dtype=dtype)
    norm = peers.torch().nn.functional.rms_norm
    contestants = {
        **_row_contestants(kernels.rms_norm, x, weight, EPS),
        TORCH: _torch(lambda: norm(x, (n,), weight, EPS)),
        **_others("rms_norm", x, x, weight, EPS),
        **_copied(x),
    }
    return Case(contestants, lambda: norm(x.float(), (n,), weight.float(), EPS), 1e-2)


def _layer_norm(rows: int, n: int, dtype: str) -> Case:
    x = _random(rows, n, dtype=dtype)
    weight, bias = (_random(n, dtype=dtype) for _ in range(2))
    norm = peers.torch().nn.functional.layer_norm
    contestants = {
        **_row_contestants(kernels.layer_norm, x, weight, bias, EPS),
        TORCH: _torch(lambda: norm(x, (n,), weight, bias, EPS)),
        **_others("layer_norm", x, x, weight, bias, EPS),
        **_copied(x),
    }

    def expected() -> Tensor:
        return norm(x.float(), (n,), weight.float(), bias.float(), EPS)

    return Case(contestants, expected, 1e-2)


TURNED = [(128, 128), (64, 128)]


def _transpose(rows: int, columns: int, dtype: str) -> Case:
    x = _random(rows, columns, dtype=dtype)
    out = _poison(x, columns, rows)
    contestants = {
        OURS: _ours(kernels.transpose, out, x, tiles=TURNED),
        **_hinted(kernels.transpose, out, x, tiles=TURNED, hints=[{"block_group": 1}]),
        TORCH: _torch(lambda: x.T.contiguous()),
        **_others("transpose", out, x),
        **_copied(x),
    }
    return Case(contestants, lambda: x.T, 1e-2)


# --- products ------------------------------------------------------------------------------------


def _large_gemm(z: Tensor, x: Tensor, y: Tensor) -> dict[str, Settings]:
    tiles = [(128, 128), (128, 256)]
    if x.shape[1] % 8 or y.shape[1] % 8:  # rows that bulk copies cannot read
        steps = [_ours(kernels.gemm, z, x, y, tiles=tiles, BK=step) for step in (64, 128)]
        return {OURS: lambda: [one for settings in steps for one in settings()]}
    mine = {OURS: _ours(kernels.gemm, z, x, y, tiles=tiles)}
    return mine | {PERSISTENT: _visiting(kernels.persistent_gemm, z, x, y)}


VISITS: Sequence[tuple[Shape, Shape, int]] = [((128, 256), (8, 1), 32), ((256, 256), (4, 1), 64)]
"""Tiles of persistent products, groups of them that run together, and steps."""


def _visiting(kernel: Any, out: Tensor, *args: Any) -> Settings:
    """A persistent product of ours, of a matrix or of a batch of them."""
    one = (1,) * (len(out.shape) - 2)

    def settings() -> list[Entry]:
        target = _poison(out)
        return [
            entry(kernel, target, one + tile, *args, groups=one + groups, BK=step)
            for tile, groups, step in VISITS
        ]

    return settings


def _gemm(m: int, n: int, k: int, dtype: str) -> Case:
    x, y = _random(m, k, dtype=dtype), _random(k, n, dtype=dtype)
    z = _poison(x, m, n)
    mine: dict[str, Settings]
    if m <= 64:
        high = 16 if m <= 16 else 64
        mine = {OURS: _ours(kernels.gemm, z, x, y, tiles=[(high, 64), (high, 128)], BK=128)}
    elif m <= 1024:
        mine = {OURS: _ours(kernels.gemm, z, x, y, tiles=[(64, 128), (128, 128)])}
    else:
        mine = _large_gemm(z, x, y)
    contestants = {**mine, TORCH: _torch(lambda: x @ y), **_others("gemm", z, x, y)}
    return Case(contestants, lambda: x @ y, 2e-2)


def _batched(batch: int, n: int, dtype: str) -> Case:
    x, y = (_random(batch, n, n, dtype=dtype) for _ in range(2))
    contestants = {
        OURS: _ours(kernels.batch_gemm, x, x, y, tiles=[(1, 128, 128), (1, 128, 256)]),
        PERSISTENT: _visiting(kernels.persistent_batch_gemm, x, x, y),
        TORCH: _torch(lambda: x @ y),
        **_others("gemm", x, x, y),
    }
    return Case(contestants, lambda: x @ y, 2e-2)


def _scaled_dot_product(causal: bool, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """By cuDNN, or by what torch has where cuDNN refuses."""
    lib = peers.torch()
    chosen = lib.nn.attention
    backends = [chosen.SDPBackend.CUDNN_ATTENTION, chosen.SDPBackend.FLASH_ATTENTION]
    with chosen.sdpa_kernel(backends, set_priority=True):
        return lib.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None], is_causal=causal, enable_gqa=len(q) != len(k)
        )[0]


def _attention(
    heads: int, queries: int, keys: int, depth: int, causal: bool, group: int, dtype: str
) -> Case:
    importlib.import_module("torch.nn.attention")
    q = _random(heads, queries, depth, dtype=dtype)
    k, v = (_random(heads // group, keys, depth, dtype=dtype) for _ in range(2))
    scale = float(depth**-0.5)
    heights = [16] if queries <= 16 else [64, 128]
    tiles = [(1, height, depth) for height in heights]

    common: Mapping[str, Any] = {"CAUSAL": causal, "GROUP": group}

    def ours() -> list[Entry]:
        """Of a few numbers of queries, and of keys per step and in the last ones."""
        steps = ((64, 64), (128, 128), *([(128, 64)] if causal else []))
        made = [
            _ours(kernels.attention, q, q, k, v, scale, tiles=tiles, **common, BN=step, LAST=last)
            for step, last in steps
        ]
        return [one for settings in made for one in settings()]

    dot = partial(_scaled_dot_product, causal, q, k, v)
    contestants = {
        OURS: ours,
        TORCH: _torch(dot),
        **_others("attention", q, q, k, v, scale, causal),
    }
    return Case(contestants, dot, 2e-2)


# --- the table -----------------------------------------------------------------------------------

ELEMENTS = 1 << 27
"""Of the matrices whose rows are reduced."""
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4}
SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}


def _memory_rows() -> Iterator[Row]:
    for dtype in ("float16", "float32"):
        for power in range(20, 29):
            n, usual = 1 << power, power in (24, 28)
            yield Row(
                "add", f"add {SHORT[dtype]}, 2^{power}", partial(_add, n, dtype),
                3.0 * n * SIZES[dtype], "B", {TORCH: 0.95}, usual, cold=power < 26,
            )  # fmt: skip
    makers = {"softmax": _softmax, "rms_norm": _rms_norm, "layer_norm": _layer_norm}
    for work, make in makers.items():
        for dtype in ("float16", "bfloat16"):
            for power in range(8, 16):
                n = 1 << power
                usual = (dtype == "float16") == (work == "softmax")
                yield Row(
                    work, f"{work} {SHORT[dtype]}, rows of {n}",
                    partial(make, ELEMENTS // n, n, dtype), 4.0 * ELEMENTS, "B", COPY_GOAL,
                    usual and power in (8, 10, 12, 13, 14, 15),
                )  # fmt: skip
    for dtype in ("float16", "float32"):
        yield Row(
            "transpose", f"transpose {SHORT[dtype]}, 8192 x 16384",
            partial(_transpose, 8192, 16384, dtype), 2.0 * ELEMENTS * SIZES[dtype], "B", COPY_GOAL,
        )  # fmt: skip


def _product_rows() -> Iterator[Row]:
    goals = {4096: 1.05, 8192: 1.05, 16384: 1.0}
    for dtype in ("bfloat16", "float16"):
        for n in (1024, 2048, 4096, 8192, 16384, 4095, 8191):
            goal = {TORCH: goals[n]} if n in goals else {}
            yield Row(
                "gemm", f"GEMM {SHORT[dtype]}, {n}", partial(_gemm, n, n, n, dtype),
                2.0 * n**3, "FLOP", goal, dtype == "bfloat16" and n not in (8191,), cold=n <= 2048,
            )  # fmt: skip
        for m in (1, 16, 64):
            yield Row(
                "gemm", f"GEMM {SHORT[dtype]}, {m} x 8192 x 8192",
                partial(_gemm, m, 8192, 8192, dtype), 2.0 * m * 8192**2, "FLOP", {},
                dtype == "bfloat16", cold=True,
            )  # fmt: skip
    for batch, n in ((64, 512), (16, 1024), (32, 2048)):
        yield Row(
            "batched gemm", f"GEMM bf16, {batch} of {n}", partial(_batched, batch, n, "bfloat16"),
            2.0 * batch * n**3, "FLOP", {}, n > 512, cold=n <= 512,
        )  # fmt: skip


def _attention_rows() -> Iterator[Row]:
    shapes = [
        (heads, tokens, depth)
        for depth in (128, 64)
        for heads, tokens in ((256, 1024), (64, 4096), (16, 16384))
    ]
    for heads, tokens, depth in shapes:
        for causal in (False, True):
            work = 4.0 * heads * tokens**2 * depth * (0.5 if causal else 1.0)
            kind = "causal " if causal else ""
            yield Row(
                "attention", f"{kind}attention, {heads} heads of {tokens}, depth {depth}",
                partial(_attention, heads, tokens, tokens, depth, causal, 1, "bfloat16"),
                work, "FLOP", {TORCH: 1.0}, tokens == 4096 or (causal and depth == 128),
            )  # fmt: skip
    yield Row(
        "attention", "causal attention, 64 heads of 4096 on 8 of keys, depth 128",
        partial(_attention, 64, 4096, 4096, 128, True, 8, "bfloat16"),
        2.0 * 64 * 4096**2 * 128, "FLOP", {TORCH: 1.0},
    )  # fmt: skip
    keys = 2.0 * 512 * 4096 * 128 * 2
    yield Row(
        "decode", "decoding, 8 queries on each of 512 heads of 4096, depth 128",
        partial(_attention, 512, 8, 4096, 128, False, 1, "bfloat16"), keys, "B", {TORCH: 1.0},
    )  # fmt: skip


ROWS: dict[str, Row] = {
    row.name: row for make in (_memory_rows, _product_rows, _attention_rows) for row in make()
}
