"""Wrong launches: host arguments that do not fit, and checks that fail while a kernel runs."""

PROGRAMS = {
    "plain-tensor-for-output": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((4,)).sync()
kernel(z).sync()
""",
    "output-also-read": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,)), z).sync()
""",
    "too-few-arguments": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
launch(kernel)
""",
    "unknown-constant": """
@tw.entry
def kernel(z: tl.TensorMut, *, BK: tl.Const[int] = 4) -> None:
    z.store(z.load())
launch(kernel, BKK=4)
""",
    "missing-constant": """
@tw.entry
def kernel(z: tl.TensorMut, *, BK: tl.Const[int]) -> None:
    z.store(z.load())
launch(kernel)
""",
    "wrong-dtype": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z))
launch(kernel, np.ones(4, "f8"))
""",
    "wrong-rank": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    z.store(z.load())
launch(kernel, np.ones(4, "f4"))
""",
    "wrong-fixed-extent": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor[f32, Literal[8]]) -> None:
    z.store(z.load())
launch(kernel, np.ones(4, "f4"))
""",
    "linked-extents-differ": """
N = TypeVar("N")
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor[f32, N], y: tl.Tensor[f32, N]) -> None:
    z.store(z.load())
launch(kernel, np.ones(4, "f4"), np.ones(5, "f4"))
""",
    "linked-dtypes-differ": """
E = TypeVar("E")
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor[E], y: tl.Tensor[E]) -> None:
    z.store(z.load())
launch(kernel, np.ones(4, "f4"), np.ones(4, "i4"))
""",
    "partition-of-wrong-rank-on-host": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((4,))
""",
    "partition-with-zero": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((4, 0))
""",
    "grids-disagree": """
@tw.entry
def kernel(z: tl.TensorMut, w: tl.TensorMut) -> None:
    z.store(z.load())
z, w = tw.zeros((8,)).sync(), tw.zeros((8,)).sync()
kernel(z.partition_mut((4,)), w.partition_mut((8,))).sync()
""",
    "no-grid": """
@tw.entry
def kernel(x: tl.Tensor) -> None:
    print(x.shape[0])
kernel(np.ones(4, "f4")).sync()
""",
    "wrong-grid": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((8,)).sync()
kernel(z.partition_mut((4,))).grid((3, 1, 1)).sync()
""",
    "scalar-out-of-range": """
@tw.entry
def kernel(z: tl.TensorMut, n: i8) -> None:
    z.store(z.load())
launch(kernel, 300)
""",
    "scalar-of-wrong-kind": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    z.store(z.load())
launch(kernel, 1.5)
""",
    "tensor-for-scalar": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    z.store(z.load())
launch(kernel, np.ones(4, "f4"))
""",
    "scalar-for-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(z.load())
launch(kernel, 3)
""",
    "launch-check-of-an-assert": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    assert z.shape[0] >= x.shape[0]
    z.store(z.load())
launch(kernel, np.ones(5, "f4"))
""",
    "load-tile-like-of-smaller-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
z = tw.zeros((16,)).sync()
kernel(z.partition_mut((4,)), np.ones(4, "f4")).sync()
""",
    "index-past-the-end": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, i: i32) -> None:
    z.store(x.partition((4,)).load([i]))
launch(kernel, np.ones(8, "f4"), 2)
""",
    "negative-index": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, i: i32) -> None:
    z.store(x.partition((4,)).load([i - 1]))
launch(kernel, np.ones(8, "f4"), 0)
""",
    "index-from-wrapped-arithmetic": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, i: i32) -> None:
    z.store(x.partition((4,)).load([i * 65536]))
launch(kernel, np.ones(8, "f4"), 65535)
""",
    "index-from-data": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, where: tl.Tensor[i32]) -> None:
    i = where.load_tile((1,), [0]).item()
    z.store(x.partition((4,)).load([i]))
launch(kernel, np.ones(8, "f4"), np.array([7], "i4"))
""",
    "store-index-past-the-end": """
@tw.entry
def kernel(z: tl.TensorMut, i: i32) -> None:
    parts = z.partition_mut((2,))
    parts.store(tl.zeros((2,), f32), [i])
launch(kernel, 2)
""",
    "failed-assertion": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = z.load(padding=tl.neg_inf)
    assert tl.reduce_max(t, 0) < 0, "negative numbers only"
    z.store(t)
launch(kernel)
""",
    "step-of-range-not-positive": """
@tw.entry
def kernel(z: tl.TensorMut, step: i32) -> None:
    t = z.load()
    if t.sum(0) > -1.0:
        for i in range(0, 10, step):
            t = t + 1.0
    z.store(t)
launch(kernel, 0)
""",
    "unsafe-launch-in-safe-code": """
@tw.entry(unsafe=True)
def kernel(p: tl.Ptr[f32]) -> None:
    pass
z = tw.zeros((4,)).sync()
kernel(z.device_pointer()).grid((1, 1, 1)).sync()
""",
    "moved-tensor": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((4,)).sync()
p = z.partition((4,))
z.to_numpy()
""",
    "kernel-indexed-by-grid": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
kernel[(1, 1, 1)]
""",
    "language-function-on-host": """
tl.exp(1.0)
""",
    "constant-of-another-type": """
@tw.entry
def kernel(z: tl.TensorMut, *, BLOCK: tl.Const[int]) -> None:
    z.store(z.load() * float(BLOCK))
launch(kernel, BLOCK=2.5)
""",
    "argument-given-twice": """
@tw.entry
def kernel(z: tl.TensorMut, factor: f32) -> None:
    z.store(z.load() * factor)
launch(kernel, 3.0, factor=2.0)
""",
    "index-below-zero-in-the-first-block": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.load_tile((4,), [tl.block_id(0) - 1]))
launch(kernel, np.ones(4, "f4"))
""",
    "load-tile-like-of-a-tensor-less-than-a-tile-shorter": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
z = tw.zeros((16,)).sync()
kernel(z.partition_mut((4,)), np.ones(15, "f4")).sync()
""",
    "load-tile-like-of-a-prefix": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
z = tw.zeros((16,)).sync()
kernel(z.partition_mut((4,)).prefix(), np.ones(7, "f4")).grid((2,)).sync()
""",
    "row-outside-of-a-table": """
@tw.entry
def kernel(z: tl.TensorMut, table: tl.Tensor, rows: tl.Tensor[i32]) -> None:
    view = tl.make_gather_scatter_view(table, (4, 4), 0)
    z.store(tl.reduce_sum(view.load([rows.load_tile((4,), [0]), 0]), 1))
launch(kernel, np.ones((100, 4), "f4"), np.array([3, 10_000, 1, 2], "i4"))
""",
    "row-start-outside-of-a-table": """
@tw.entry
def kernel(z: tl.TensorMut, table: tl.Tensor) -> None:
    view = tl.make_gather_scatter_view(table, (4, 4), 0)
    z.store(tl.reduce_sum(view.load([tl.arange(4), -1]), 1))
launch(kernel, np.ones((100, 4), "f4"))
""",
    "loop-that-starts-below-zero": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    xs, total = x.partition((4,)), tl.zeros((4,), f32)
    for j in range(-2, 4):
        total = total + xs.load([j])
    z.store(total)
launch(kernel, np.ones(16, "f4"))
""",
    "loop-that-goes-one-tile-too-far": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    xs, total = x.partition((4,)), tl.zeros((4,), f32)
    for j in range(tl.num_tiles(xs) + 1):
        total = total + xs.load([j])
    z.store(total)
launch(kernel, np.ones(16, "f4"))
""",
    "loop-that-starts-below-zero-where-a-number-says-so": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    xs, total = x.partition((4,)), tl.zeros((4,), f32)
    for j in range(-2, n):
        total = total + xs.load([j])
    z.store(total)
launch(kernel, np.ones(16, "f4"), 1)
""",
    "integer-of-too-many-digits": """
BIG = 10 ** 5000
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() + BIG)
launch(kernel)
""",
    "scalar-of-too-many-digits": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    z.store(z.load() + n.astype(f32))
launch(kernel, 10 ** 5000)
""",
    "key-of-sorted": """
def key(x):
    return -x
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() + sorted((1, 2), key=key)[0])
launch(kernel)
""",
}
