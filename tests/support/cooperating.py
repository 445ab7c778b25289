"""SIMT kernels that use atomics of every order and kind, and what threads compute together."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import bf16, f16, f32, f64, i32, i64, simt, u32, u64


@simt.kernel(block=96)
def reductions(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    mine = x[i] if i < len(x) else 0.0
    total = simt.block_sum(mine)
    most, least = simt.block_max(mine), simt.block_min(mine)
    warp = simt.warp_sum(mine) + simt.warp_max(mine) * 100.0 + simt.warp_min(mine) * 10000.0
    if i < len(out):
        kind = simt.thread_idx() % 4
        out[i] = total if kind == 0 else most if kind == 1 else least if kind == 2 else warp


@simt.kernel(block=(16, 8), domain=2)
def scans(out: simt.DisjointSlice[i32], x: simt.Slice[i32], width: i32) -> None:
    i = simt.index_2d(width)
    mine = x[i] if i < len(x) else 0
    of_block = simt.block_scan(mine, lambda a, b: a + b)
    of_warp = simt.warp_scan(mine, lambda a, b: max(a, b))
    if i < len(out):
        out[i] = of_block * 1000 + of_warp


@simt.kernel(block=64)
def in_a_loop(out: simt.DisjointSlice[i32], rounds: i32) -> None:
    i = simt.index_1d()
    total = 0
    for k in range(rounds):
        total += simt.block_reduce(simt.thread_idx() * k, lambda a, b: a + b)
    if i < len(out):
        out[i] = total


@simt.kernel
def in_groups(out: simt.DisjointSlice[i32], x: simt.Slice[i32], *, WIDTH: tl.Const[int]) -> None:
    i = simt.index_1d()
    mine = x[i] if i < len(x) else 0
    total = simt.warp_sum(mine, width=WIDTH)
    scanned = simt.warp_scan(mine, lambda a, b: a + b, width=WIDTH)
    if i < len(out):
        out[i] = total * 10000 + scanned


@simt.kernel(block=32)
def one_warp(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    total = simt.block_sum(i) + simt.block_scan(i, lambda a, b: a + b)
    if i < len(out):
        out[i] = total


@simt.kernel(block=64)
def last_block(
    out: simt.DisjointSlice[i32], sums: simt.DisjointSlice[i32], arrived: simt.DisjointSlice[i32]
) -> None:
    """The block that comes last reads what all have written."""
    t = simt.thread_idx()
    with tw.unsafe():
        last = simt.shared(i32, 1)
        if t < 4:
            sums.elements[simt.block_idx() * 4 + t] = t + simt.block_idx()
        simt.sync_threads()
        if t == 0:
            last[0] = tl.atomic_add(arrived.elements.at(0), 1)
        simt.sync_threads()
        if last[0] == simt.grid_dim() - 1 and t < 12:
            out.elements[t] = sums.elements[t]


@simt.kernel(unsafe=True)
def orders(
    a: tl.Ptr[i32], b: tl.Ptr[u64], c: tl.Ptr[f32], d: tl.Ptr[f64], e: tl.Ptr[u32], f: tl.Ptr[i64],
    h: tl.Ptr[f16], g: tl.Ptr[bf16], out: simt.DisjointSlice[i32]
) -> None:  # fmt: skip
    """Every mode, order, scope and element type, in both kinds of memory."""
    i = simt.index_1d()
    s, q, w = simt.shared(i32, 4), simt.shared(f32, 4), simt.shared(u64, 2)
    if simt.thread_idx() == 0:
        s[1], w[1], q[1], q[2] = 0, 0, 0.0, 0.0
    simt.sync_threads()
    x = tl.atomic_max(a, 3, ordering="acquire")
    x += tl.atomic_min(a + 1, 3, ordering="release", scope="system")
    tl.atomic_or(b, 3, ordering="relaxed", scope="tile_block")
    tl.atomic_add(b, 3)
    y = tl.atomic_xchg(c, 3.0)
    y += tl.atomic_add(c, 3.0, ordering="relaxed", scope="system")
    tl.atomic_add(d, f64(y))
    tl.atomic_max(e, 3)
    tl.atomic_min(f, 3)
    tl.atomic_and(e, 3)
    tl.atomic_xor(f, 3)
    tl.atomic_add(h, f16(y), ordering="relaxed")
    tl.atomic_add(g, bf16(y))
    tl.atomic_add(s.at(1), x, ordering="relaxed", scope="tile_block")
    tl.atomic_max(w.at(1), 7)
    y += tl.atomic_xchg(q.at(1), y)
    tl.atomic_add(q.at(2), y)
    x += tl.atomic_cas(a, 1, 2, ordering="acq_rel", scope="device")
    y += tl.atomic_cas(c, 1.0, 2.0, ordering="acquire", scope="system")
    x += tl.atomic_cas(s.at(1), 1, 2, ordering="release", scope="tile_block")
    if i < len(out):
        out.elements[i] = x + i32(y)
        tl.atomic_add(out.elements.at(i), 1)


@simt.kernel(unsafe=True)
def by_hand(out: simt.DisjointSlice[u32], halves: simt.DisjointSlice[f32]) -> None:
    """PTX: of integers, of floats, of several results, and of none."""
    i = simt.index_1d()
    if i < len(out):
        flipped = simt.inline_ptx("brev.b32 $0, $1;", u32(i), result=u32)
        low, high = simt.inline_ptx(
            "{\n\t.reg .pred p;\n\tsetp.lt.u32 p, $2, $3;\n\tselp.b32 $0, $2, $3, p;"
            "\n\tselp.b32 $1, $3, $2, p;\n}",
            flipped,
            u32(i),
            result=(u32, u32),
        )
        out[i] = low ^ high ^ u32(i)
        halves[i] = simt.inline_ptx("mul.f32 $0, $1, 0f3F000000;", f32(i), result=f32)
        simt.inline_ptx("membar.cta;")


KERNELS: dict[str, Any] = {
    "by-hand": by_hand,
    "reductions": reductions, "scans": scans, "in-a-loop": in_a_loop, "one-warp": one_warp,
    "last-block": last_block, "orders": orders,
}  # fmt: skip
