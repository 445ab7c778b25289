"""A user's program that must check as it stands: results mirror the arguments."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeVar, TypeVarTuple, assert_type

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import bf16, f16, f32, i32, u32

E = TypeVar("E")
N = TypeVar("N")
S = TypeVarTuple("S")
Array = np.ndarray[Any, Any]


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def row_softmax(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


@tw.entry
def gemm(
    z: tl.TensorMut[f32],
    x: tl.Tensor[E, tl.Dyn, N],
    y: tl.Tensor[E, N, tl.Dyn],
    *,
    BK: tl.Const[int] = 64,
) -> None:
    BM, BN = z.shape
    a, b = x.partition((BM, BK)), y.partition((BK, BN))
    i, j = tl.block_id(0), tl.block_id(1)
    acc = tl.zeros((BM, BN), f32)
    for k in range(a.num_tiles(1)):
        acc = tl.mma(a.load((i, k)), b.load((k, j)), acc)
    z.store(acc)


@tw.entry
def scale(out: tl.TensorMut[E, *S], x: tl.Tensor[E], factor: f32, n: int) -> None:
    out.store(tl.load_tile_like(x, out))


@tw.entry
def fixed(out: tl.TensorMut[f32, Literal[16]], x: tl.Tensor[f32, Literal[128]]) -> None:
    out.store(x.load_tile((16,), tl.block_id(0)))


@tw.entry(unsafe=True)
def poke(p: tl.Ptr[f32], *, OFFSET: tl.Const[int]) -> None:
    tl.store_ptr_tko(p, tl.zeros((), f32))


@tw.entry(hints={"sm_90": tw.CompileOptions(occupancy=2), "default": tw.CompileOptions(latency=3)})
def double(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 2)


@tw.entry(hints=tw.CompileOptions(num_worker_warps_per_cta=8))
def halve(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) / 2)


@tw.kernel
def hello() -> None:
    print("hello")


a: Array = np.ones((100, 100), np.float32)
z = tw.zeros((100, 100)).sync()
assert_type(z, tw.Tensor[f32])
p = z.partition_mut((64, 64))
assert_type(p, tw.Partition[f32])

launch = add(p, a, a)
as_launch: tw.Launch[tuple[tw.Partition[f32], Array, Array]] = launch
assert_type(launch.sync(), tuple[tw.Partition[f32], Array, Array])
assert_type(double(p, a).sync(), tuple[tw.Partition[f32], Array])
assert_type(add(p, z, 1).sync(), tuple[tw.Partition[f32], tw.Tensor[f32], int])
assert_type(add(x=a, y=a, z=p), tw.Launch[Any])

probs = tw.empty((4096, 1000)).partition((8, 1024))
assert_type(probs, tw.DeviceOp[tw.Partition[f32]])
x = tw.ones((4096, 1000))
softmax = row_softmax(probs, x)
as_op: tw.DeviceOp[tuple[tw.Partition[f32], tw.Tensor[f32]]] = softmax
assert_type(softmax.out().sync(), tw.Tensor[f32])

half = tw.full((64, 64), 0.5, f16).sync()
product = gemm(tw.zeros((64, 64)).partition((32, 32)), half, half, BK=32)
as_product: tw.Launch[tuple[tw.Partition[f32], tw.Tensor[f16], tw.Tensor[f16]]] = product
assert_type(product.first().unpartition().to_numpy().sync(), Array)
gemm(tw.zeros((64, 64)).partition((32, 32)), half, half).grid((2, 2)).close()

scaled = scale(tw.empty((8,), bf16).partition(8), tw.ones((8,), bf16), 0.5, 8)
assert_type(scaled.sync(), tuple[tw.Partition[bf16], tw.Tensor[bf16], float, int])
scale(tw.empty((8,), bf16).partition(8), tw.Arc(half), f32(0.5), u32(8)).close()
fixed(tw.empty((128,)).partition((16,)), np.zeros(128, np.float32)).close()

chained = row_softmax(tw.empty((8, 8)).partition((8, 8)), tw.ones((8, 8))).then(
    lambda p, x: add(tw.empty((8, 8)).partition((8, 8)), p.unpartition(), x)
)
assert_type(chained, tw.DeviceOp[tuple[tw.Partition[f32], tw.Tensor[f32], tw.Tensor[f32]]])
bound = tw.value((p, a, a)).then(add)
assert_type(bound.sync(), tuple[tw.Partition[f32], Array, Array])
tw.value((p, half, half)).then(partial(gemm, BK=4)).close()

assert_type(tw.ones((2,)).map(lambda t: t.shape).sync(), tuple[int, ...])
assert_type(tw.value((1, "a")).map(lambda n, s: s * n).sync(), str)
assert_type(tw.ones((2,)).map(lambda t, n: t.size + n, 5).sync(), int)
assert_type(tw.ones((2,)).reshape((1, 2)).sync(), tw.Tensor[f32])
assert_type(tw.meta((2,), i32), tw.Tensor[i32])
assert_type(tw.move(z), tw.Tensor[f32])
assert_type(z[1:].dtype, type[f32])

with tw.unsafe():
    poke(z.device_pointer(), OFFSET=3).close()
hello().grid((1,)).sync()
with tw.device("reference") as device:
    some_device: tw.Device = device
print(add.ir(tw.meta((4, 4)).partition((2, 2)), tw.meta((4, 4)), a), add.explain_recompile())


class Scale(tw.DeviceOp[int]):
    """A user's own op."""

    def __init__(self, n: int) -> None:
        self.n = n

    def execute(self, ctx: tw.ExecutionContext) -> int:
        return self.n * len(ctx.device.name)


assert_type(Scale(3).then(lambda n: Scale(n)).sync(), int)


@tw.unsafe
def risky(t: tw.Tensor[f32]) -> tw.Launch[tuple[tw.DevicePointer[f32]]]:
    return poke(t.device_pointer(), OFFSET=1)
