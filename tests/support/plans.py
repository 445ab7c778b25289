"""Kernels whose plans are looked at: small ones that show one decision each."""

from __future__ import annotations

from support.ir import Kernel
from support.native import Dense
from tilewright.backend.llvm.object import CpuTarget
from tilewright.base.dtypes import AnyDType, f16, f32, i32
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.types import TileType

AVX2 = CpuTarget("haswell", "+avx2,+fma,+f16c", "x86_64-unknown-linux-gnu")
AVX512 = CpuTarget(
    "skylake-avx512", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl", AVX2.triple
)


def body(name: str, dtype: AnyDType) -> list[Block]:
    """A reduction's body of one op."""
    block = Block((Value(TileType(dtype), "elem"), Value(TileType(dtype), "acc")))
    builder = Builder(block)
    builder.op("yield", [builder.emit(name, block.args[1], block.args[0])])
    return [block]


def add() -> Func:
    """Three accesses and a sum: one nest, no buffer."""
    k = Dense("add")
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2)
    i, j = k.block_id(0), k.block_id(1)
    total = k.emit("addf", k.load(x, (64, 64), i, j), k.load(y, (64, 64), i, j))
    k.store(total, z, i, j)
    return k.finish()


def rows(k: Kernel, tile: Value, name: str, start: float) -> Value:
    """A reduction of rows, spread over the tile again."""
    m, n = tile.tile.shape
    reduced = k.emit("reduce", [tile], regions=body(name, f32), axis=1, identities=(start,))
    return k.emit("broadcast", k.emit("reshape", reduced, shape=(m, 1)), shape=(m, n))


def softmax() -> Func:
    """Three passes over the rows; the exponentials are kept, the input is read again."""
    k = Dense("softmax")
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    i = k.block_id(0)
    tile = k.load(x, (8, 1024), i, padding=float("-inf"))
    p = k.emit("exp", k.emit("subf", tile, rows(k, tile, "maxf", float("-inf"))))
    k.store(k.emit("divf", p, rows(k, p, "addf", 0.0)), z, i)
    return k.finish()


def gemm(dtype: AnyDType = f16) -> Func:
    """A loop whose accumulator stays in one buffer; operands are converted while packed."""
    k = Dense("gemm")
    x, y, z = k.tensor("x", dtype, 2), k.tensor("y", dtype, 2), k.output("z", f32, 2)
    i, j = k.block_id(0), k.block_id(1)
    zero = k.constant(0.0, f32, (64, 64))
    count = k.emit("num_tiles", k.view(x, (64, 32)), axis=1)
    with k.region(TileType(i32), zero.type) as loop:
        at, acc = loop.args
        a, b = k.load(x, (64, 32), i, at), k.load(y, (32, 64), at, j)
        k.op("continue", [k.emit("mmaf", a, b, acc)])
    (total,) = k.op("for", k.i32(0), count, k.i32(1), [zero], regions=[loop]).results
    k.store(total, z, i, j)
    return k.finish()


def layouts() -> Func:
    """Axes split, moved and merged: all in one nest, whose loops are split to fit."""
    k = Dense("layouts")
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 1)
    tile = k.emit("reshape", k.load(x, (8, 32)), shape=(4, 2, 4, 8))
    tile = k.emit("permute", tile, order=(1, 0, 2, 3))
    k.store(k.emit("reshape", tile, shape=(256,)), z)
    return k.finish()


def in_place() -> Func:
    """A tile is read and written where it lies; a shifted store needs a copy first."""
    k = Dense("in_place")
    z = k.output("z", i32, 1)
    i = k.block_id(0)
    tile = k.load(z, (64,), i)
    k.store(k.emit("addi", tile, tile), z, i)
    moved = k.load(z, (64,), i)
    k.store(moved, z, k.emit("addi", i, k.i32(1)))
    return k.finish()


def several() -> Func:
    """A cheap tile is computed in both nests that need it, a costly one is kept."""
    k = Dense("several")
    x, y, z = k.tensor("x", f32, 2), k.output("y", f32, 2), k.output("z", f32, 2)
    i = k.block_id(0)
    tile = k.load(x, (16, 64), i)
    cheap = k.emit("addf", tile, tile)
    costly = k.emit("exp", tile)
    k.store(k.emit("subf", cheap, rows(k, cheap, "addf", 0.0)), y, i)
    k.store(k.emit("subf", costly, rows(k, costly, "addf", 0.0)), z, i)
    return k.finish()


def others() -> Func:
    """Scans, gathers, atomics, prints, branches: every statement there is."""
    k = Dense("others")
    x, numbers, z = k.tensor("x", f32, 2), k.tensor("numbers", i32, 1), k.output("z", f32, 2)
    p, n = k.pointer("p", f32), k.scalar("n", i32)
    picked = k.load(numbers, (8,))
    tile = k.emit("load_view", k.view(x, (8, 16), sparse=0), [picked, n], None)
    running = k.emit("scan", [tile], regions=body("addf", f32), axis=1, identities=(0.0,))
    joined = k.emit("cat", running, tile, axis=0)
    ok = k.emit("check", n, k.emit("extent", x, axis=1), tensor="x", axis=1)
    with k.region() as yes:
        k.op("yield", [k.emit("negf", joined)])
    with k.region() as no:
        k.op("print", [joined, n], template=((0, ""), (1, "")))
        k.op("yield", [joined])
    (result,) = k.op("if", ok, regions=[yes, no], types=(joined.type,)).results
    k.store(result, z, guard=ok)
    pointers = k.pointers(p, 16)
    loaded = k.emit("load_ptr", pointers, k.constant(True, ok.tile.dtype, (16,)))
    old = k.emit("atomic_rmw", pointers, loaded)
    k.op("store_ptr", pointers, k.emit("addf", old, loaded))
    return k.finish()
