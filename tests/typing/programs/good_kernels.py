"""Kernels as users write them, which must check as they stand: every family of the language."""

from __future__ import annotations

from typing import Literal, TypeVar, TypeVarTuple, assert_type

import tilewright.lang as tl
from tilewright.base.dtypes import bf16, bool_, f16, f32, i32, i64

BM = TypeVar("BM")
BN = TypeVar("BN")
E = TypeVar("E")
S = TypeVarTuple("S")


def gemm(
    z: tl.TensorMut[f32, BM, BN],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 64,
) -> None:
    bm, bn = z.shape
    px, py = x.partition((bm, BK)), y.partition((BK, bn))
    i, j, _ = tl.get_tile_block_id()
    acc = tl.zeros((bm, bn), f32)
    for k in range(tl.num_tiles(px, 1)):
        a, b = px.load([i, k]), py.load_pipelined((k, j), 4)
        assert_type(a, tl.Tile[f16])
        acc = tl.mma(a, b, acc)
        acc = acc + a @ b
    z.store(acc)


def relu(x: tl.Tile) -> tl.Tile:
    """A helper for tiles of any elements."""
    return tl.where(x > 0.0, x, 0.0)


def scaled(x: tl.Tile[f32], by: f32) -> tl.Tile[f32]:
    return x * by


def block_of(x: tl.AnyTensor[f32], out: tl.AnyTensorMut[f32]) -> tl.Tile[f32]:
    """A helper for tensors of any rank."""
    return tl.load_tile_like(x, out)


def any_rank(out: tl.TensorMut[f32, *S], x: tl.Tensor[f32, *S], factor: f32) -> None:
    out.store(relu(scaled(block_of(x, out), factor)))


def fixed(out: tl.TensorMut[f32, Literal[128], BM], x: tl.Tensor[E, Literal[128], BM]) -> None:
    t = x.load_tile((16, 16), (0, tl.block_id(1)))
    out.store(t.astype(out.dtype))


def bare(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(block_of_any(x, out))


def block_of_any(x: tl.AnyTensor, out: tl.AnyTensorMut) -> tl.Tile:
    return tl.load_tile_like(x, out).astype(out.dtype)


def reductions(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    t = x.load_tile((64,), [tl.block_id(0)], padding=tl.neg_inf)
    m = t.mask()
    assert_type(m, tl.Tile[bool_])
    s = tl.reduce(t, 0, 0.0, lambda a, b: a + b)
    v, i = tl.reduce(
        (t, tl.arange(64)),
        0,
        (tl.neg_inf, 0),
        lambda a, j, b, k: (tl.where(a > b, a, b), tl.where(a > b, j, k)),
    )
    c = tl.scan(t, 0, 0.0, lambda a, b: tl.maximum(a, b))
    n = tl.reduce_sum(m.astype(i32))
    assert_type(tl.argmax(t, 0), tl.Tile[i32])
    out.store(tl.where(m, t + c, s + v) + t.sum(0) + i.astype(f32) + n.astype(f32))
    q = out.partition_mut((16,))
    for k in range(q.num_tiles()):
        q.store(q.load(k) * 2.0, k)
    print(f"block {tl.block_id(0)}: {out.extent[0]} {s}", t.dtype, q.grid)
    if tl.any(t > 1.0):
        print("big", end="")


def pointers(p: tl.Ptr[f32], q: tl.Ptr[i32], n: i32) -> None:
    i = tl.block_id(0) * 64 + tl.arange(64)
    inside = i < n
    t = tl.load_ptr(p + i, inside, 0.0)
    assert_type(t, tl.Tile[f32])
    tl.store_ptr(p + i, t * 2.0, mask=inside)
    old = tl.atomic_add(q + (i % 4), 1, mask=inside)
    assert_type(old, tl.Tile[i32])
    tl.scatter(q, old, old, inside)
    a = tl.gather(p.offset(4), old, inside, 1.5)
    whole = tl.make_partition_view_mut(tl.make_tensor_view(p, (n, 64)), (1, 64))
    whole.store(a.reshape(1, 64), (tl.block_id(0), 0))
    tl.atomic_cas(q, 0, 1, ordering="relaxed", scope=tl.Scope.SYSTEM)


hits = tl.Global(i32)
table = tl.Global(f32, [1.0, 2.0], shape=(8, 2))


def bump(g: tl.Global[i32], by: int) -> tl.Tile[i32]:
    return g.atomic_add(by, ordering="relaxed")


def globals_(out: tl.TensorMut[f32]) -> None:
    assert_type(bump(hits, 2), tl.Tile[i32])
    assert_type(table.load(ordering="acquire"), tl.Tile[f32])
    table.store(table.load() + 1.0)
    p = tl.get_global(table)
    assert_type(p, tl.PointerTile[f32])
    out.store(tl.gather(p, tl.arange(16)))


def views(
    out: tl.TensorMut[bf16], x: tl.Tensor[bf16, tl.Dyn, tl.Dyn, tl.Dyn], table: tl.Tensor[i64]
) -> None:
    for k in tl.static_range(3):
        out.store(out.load() + float(k))
    n = x.shape[0] * 2
    tl.cuda_tile_assert(n > 0, "empty")
    tl.cuda_tile_print("{} {:d}\n", n, tl.num_blocks(0))
    y = tl.load_tensor(table, 0, (n, 8), None, bf16)
    rows = tl.make_gather_scatter_view(y, (4, 8), 0)
    t = tl.load_view_tko(rows, [tl.arange(4), 0])
    assert_type(t, tl.Tile[bf16])
    tl.store_tile(out, t)


def of_globals() -> int:
    hits.copy_from(3, device="cpu")
    hits.reset()
    return int(hits.to_numpy()) + table.to_numpy(device="reference").size


def persistent(
    z: tl.MappedPartitionMut[f32, BM, BN], w: tl.MappedPartitionMut[f16], x: tl.Tensor[f32]
) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        assert_type(index, tl.PartitionIndex)
        m, n = index
        assert_type(m, int)
        assert_type(z.load(index), tl.Tile[f32])
        z.store(xs.load(index) + xs.load((m, n)) + index[0], index, latency=2)
    for index in z.iter_indices_with(w):
        w.store(z.load(index, padding=1).astype(f16), index.at(0))
    for index in z.iter_indices_within(((0, 4), (tl.num_tiles(z, 1) // 2, -1))):
        helper(z, index)
    for index in z.iter_indices_within_with([(0, 1), (0, -1)], w):
        assert_type(w.dtype, type[f16])


def helper(z: tl.AnyMappedPartitionMut[f32], index: tl.PartitionIndex) -> None:
    z.store(tl.full(z.shape, z.rank, f32), index)


def composed(out: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    """The standard library: element types are kept, parts are tuples, indices are i32."""
    t = tl.load_tile_like(x, out)
    assert_type(tl.sort(tl.softmax(t), descending=True), tl.Tile[f32])
    assert_type(tl.gelu(t, "tanh"), tl.Tile[f32])
    assert_type(tl.sigmoid(factor), f32)
    assert_type(tl.isnan(t) | tl.isinf(factor), tl.Tile[bool_])
    values, indices = tl.topk(t, 8)
    assert_type(values, tl.Tile[f32])
    assert_type(indices, tl.Tile[i32])
    assert_type(tl.split(t, 2), tuple[tl.Tile[f32], ...])
    assert_type(tl.stack((t, t), -1), tl.Tile[f32])
    left, right = tl.split(t, 2)
    out.store(tl.interleave(left, right) - tl.mean(t) + tl.var(t, 0, keepdims=True))
