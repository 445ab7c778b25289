"""Wrong kernels whose mistake is in values: types, shapes, control flow, memory."""

PROGRAMS = {
    "shapes-do-not-broadcast": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() + tl.zeros((8,), f32))
launch(kernel)
""",
    "int-and-float": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() * tl.iota((4,)))
launch(kernel)
""",
    "int-added-in-place": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = z.load()
    t += tl.block_id(0) + 1
    z.store(t)
launch(kernel)
""",
    "int-compared-with-float": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    ä = z.load()
    z.store(tl.where(tl.maximum(ä, 0.0) < tl.block_id(0), ä, 0.0))
launch(kernel)
""",
    "int-and-float-in-a-call": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.maximum(tl.block_id(0) * 2, z.load()))
launch(kernel)
""",
    "int-and-float-in-long": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() * (tl.block_id(0) + tl.block_id(1) + tl.block_id(2) + 1))
launch(kernel)
""",
    "int-and-float-on-two-lines": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() * (
        tl.block_id(0) + 1))
launch(kernel)
""",
    "signed-and-unsigned": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    i = tl.arange(4)
    z.store((i + i.astype(u32)).astype(f32))
launch(kernel)
""",
    "half-and-bfloat": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    a = z.load().astype(f16)
    b = z.load().astype(bf16)
    z.store((a + b).astype(f32))
launch(kernel)
""",
    "literal-out-of-range": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    i = tl.arange(4).astype(i8)
    z.store((i + 300).astype(f32))
launch(kernel)
""",
    "float-literal-with-int-tile": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store((tl.arange(4) * 0.5).astype(f32))
launch(kernel)
""",
    "true-division-of-ints": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    i = tl.arange(4)
    z.store(i / i)
launch(kernel)
""",
    "exp-of-int": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.exp(tl.arange(4)))
launch(kernel)
""",
    "arithmetic-on-f8": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    a = z.load().astype(f8e4m3fn)
    z.store((a + a).astype(f32))
launch(kernel)
""",
    "arithmetic-on-bool": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    m = z.load() > 0
    z.store((m + m).astype(f32))
launch(kernel)
""",
    "mask-beside-numbers": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    p = z.load()
    z.store(p - (p > 0))
launch(kernel)
""",
    "number-as-accumulator": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    a = tl.zeros((4, 4), f32)
    z.store(tl.mma(a, a, 0).reshape(16))
launch(kernel)
""",
    "arithmetic-on-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x + 1)
launch(kernel, np.ones(4, "f4"))
""",
    "not-an-element-type": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load().astype("f31"))
launch(kernel)
""",
    "not-a-power-of-two": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.zeros((3,), f32))
launch(kernel)
""",
    "whole-axis-in-a-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.zeros((4, tw.FULL), f32))
launch(kernel)
""",
    "output-tile-not-a-power-of-two": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((9,)).sync()
kernel(z.partition_mut((3,))).sync()
""",
    "shape-not-constant": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    z.store(tl.zeros((n,), f32))
launch(kernel, 4)
""",
    "tile-too-large": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = tl.zeros((8192, 8192), f32)
    z.store(z.load())
launch(kernel)
""",
    "store-to-read-only": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    x.store(z.load())
launch(kernel, np.ones(4, "f4"))
""",
    "store-to-read-only-partition": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    x.partition((4,)).store(z.load(), [0])
launch(kernel, np.ones(4, "f4"))
""",
    "store-of-wrong-shape": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.zeros((8,), f32))
launch(kernel)
""",
    "store-of-wrong-dtype": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.arange(4))
launch(kernel)
""",
    "wrong-number-of-indices": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.partition((4,)).load([0, 0]))
launch(kernel, np.ones(4, "f4"))
""",
    "partition-of-wrong-rank": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.partition((4, 4)).load([0, 0]))
launch(kernel, np.ones(4, "f4"))
""",
    "load-tile-like-of-other-rank": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
launch(kernel, np.ones((4, 4), "f4"))
""",
    "static-index-out-of-range": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor[f32, Literal[4]]) -> None:
    z.store(x.partition((4,)).load([3]))
launch(kernel, np.ones(4, "f4"))
""",
    "tensor-indexed": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x[0])
launch(kernel, np.ones(4, "f4"))
""",
    "axis-out-of-range": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() + tl.reduce_sum(z.load(), 1))
launch(kernel)
""",
    "reshape-of-other-size": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load().reshape((8,)))
launch(kernel)
""",
    "matmul-inner-extents": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    a = tl.zeros((4, 8), f32)
    b = tl.zeros((4, 8), f32)
    c = a @ b
    z.store(z.load())
launch(kernel)
""",
    "mma-wrong-accumulator": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    a = tl.zeros((4, 4), bf16)
    c = tl.mma(a, a, tl.zeros((4, 4), bf16))
    z.store(z.load())
launch(kernel)
""",
    "truth-of-a-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    if x:
        z.store(z.load())
launch(kernel, np.ones(4, np.float32))
""",
    "truth-of-a-tile": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = z.load()
    if t > 0:
        t = -t
    z.store(t)
launch(kernel)
""",
    "and-of-tiles": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = z.load()
    z.store(tl.where(t > 0 and t < 1, t, 0.0))
launch(kernel)
""",
    "bound-in-one-branch": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    if n > 0:
        t = z.load()
    z.store(t)
launch(kernel, 1)
""",
    "bound-in-loop-only": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    for i in range(n):
        t = z.load()
    z.store(t)
launch(kernel, 1)
""",
    "used-before-bound-in-loop": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    for i in range(n):
        z.store(total)
        total = z.load()
launch(kernel, 1)
""",
    "type-changes-in-loop": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    t = tl.zeros((4,), f32)
    for i in range(n):
        t = tl.zeros((8,), f32)
    z.store(z.load())
launch(kernel, 1)
""",
    "scalar-becomes-tile-in-loop": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    total = 0.0
    for i in range(n):
        total = total + z.load()
    z.store(total)
launch(kernel, 1)
""",
    "type-differs-between-branches": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    if n > 0:
        t = z.load()
    else:
        t = tl.zeros((8,), f32)
    z.store(z.load())
launch(kernel, 1)
""",
    "partition-chosen-at-run-time": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, n: i32) -> None:
    source = x if n > 0 else y
    z.store(tl.load_tile_like(source, z))
launch(kernel, np.ones(4, "f4"), np.ones(4, "f4"), 1)
""",
    "partition-changes-in-loop": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    p = x.partition((4,))
    for i in range(n):
        p = x.partition((2,))
    z.store(z.load())
launch(kernel, np.ones(4, "f4"), 1)
""",
    "different-returns": """
def helper(t, n):
    if n > 0:
        return t
    return 1, 2
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    z.store(helper(z.load(), n))
launch(kernel, 1)
""",
    "unpack-wrong-count": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    a, b = tl.get_tile_block_id()
    z.store(z.load())
launch(kernel)
""",
    "static-assertion": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    assert z.shape[0] == 8, "tiles of 8 only"
    z.store(z.load())
launch(kernel)
""",
    "unsafe-in-safe-kernel": """
@tw.entry
def kernel(z: tl.TensorMut, address: i64) -> None:
    p = tl.int_to_ptr(address, f32)
    z.store(z.load())
launch(kernel, 0)
""",
    "global-in-safe-kernel": """
hits = tl.Global(i32)
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    hits.atomic_add(1)
    z.store(z.load())
launch(kernel)
""",
    "global-as-a-value": """
hits = tl.Global(i32)
@tw.entry(unsafe=True)
def kernel(z: tl.TensorMut) -> None:
    hits.store(hits + 1)
with tw.unsafe():
    launch(kernel)
""",
    "global-that-is-no-tile": """
table = tl.Global(f32, shape=(10,))
@tw.entry(unsafe=True)
def kernel(z: tl.TensorMut) -> None:
    z.store(table.load())
with tw.unsafe():
    launch(kernel)
""",
    "padding-does-not-fit": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z, padding=tl.neg_inf).astype(f32))
launch(kernel, np.ones(4, "i4"))
""",
    "round-to-digits": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(round(z.load(), 2))
launch(kernel)
""",
}
