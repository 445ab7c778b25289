"""Wrong kernels whose mistake is in the language: syntax, names, calls, annotations."""

PROGRAMS = {
    "class-in-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    class Inner:
        pass
launch(kernel)
""",
    "try-in-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    try:
        z.store(z.load())
    finally:
        pass
launch(kernel)
""",
    "import-in-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    import math
    z.store(z.load() * math.pi)
launch(kernel)
""",
    "dict-in-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    table = {"a": 1}
    z.store(z.load())
launch(kernel)
""",
    "for-else": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    for i in range(3):
        z.store(z.load())
    else:
        z.store(z.load())
launch(kernel)
""",
    "match": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    match 3:
        case 3:
            z.store(z.load())
launch(kernel)
""",
    "item-assignment": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = z.load()
    t[0] = 1.0
launch(kernel)
""",
    "with-other": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    with open("file"):
        z.store(z.load())
launch(kernel)
""",
    "break-in-unrolled-loop": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    for k in tl.static_range(3):
        if tl.get_tile_block_id()[0] > k:
            break
    z.store(z.load())
launch(kernel)
""",
    "unknown-name": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    value = z.load()
    z.store(valeu)
launch(kernel)
""",
    "unknown-attribute-of-tile": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load().reshap((4,)))
launch(kernel)
""",
    "unknown-function": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.expp(z.load()))
launch(kernel)
""",
    "numpy-in-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(np.exp(z.load()))
launch(kernel)
""",
    "math-on-tile": """
import math
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(math.exp(z.load()))
launch(kernel)
""",
    "wrong-arity-of-function": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.exp(z.load(), z.load()))
launch(kernel)
""",
    "wrong-keyword": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.reduce_sum(z.load(), dim=0))
launch(kernel)
""",
    "wrong-arity-of-helper": """
def helper(a, b):
    return a + b
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(helper(z.load()))
launch(kernel)
""",
    "error-in-helper": """
def inner(t):
    return t + missing
def outer(t):
    return inner(t)
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(outer(z.load()))
launch(kernel)
""",
    "recursion": """
def down(t, n):
    return down(t, n - 1)
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(down(z.load(), 3))
launch(kernel)
""",
    "captured-array": """
weights = np.ones(4, "f4")
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() * weights)
launch(kernel)
""",
    "kernel-returns-value": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    return z.load()
launch(kernel)
""",
    "return-annotation": """
@tw.entry
def kernel(z: tl.TensorMut) -> int:
    z.store(z.load())
launch(kernel)
""",
    "missing-annotation": """
@tw.entry
def kernel(z) -> None:
    z.store(z.load())
launch(kernel)
""",
    "missing-annotation-of-an-input": """
@tw.entry
def kernel(z: tl.TensorMut, x) -> None:
    z.store(tl.load_tile_like(x, z))
launch(kernel)
""",
    "meaningless-annotation": """
@tw.entry
def kernel(z: tl.TensorMut, name: str) -> None:
    z.store(z.load())
launch(kernel)
""",
    "annotation-that-fails": """
from __future__ import annotations
@tw.entry
def kernel(z: tl.TensorMut[f33]) -> None:
    z.store(z.load())
launch(kernel)
""",
    "positional-constant": """
@tw.entry
def kernel(z: tl.TensorMut, BK: tl.Const[int]) -> None:
    z.store(z.load())
launch(kernel)
""",
    "pointer-in-safe-kernel": """
@tw.entry
def kernel(p: tl.Ptr[f32]) -> None:
    pass
launch(kernel)
""",
    "no-source": """
names = {"tw": tw, "tl": tl}
exec("def hidden(z: tl.TensorMut) -> None:\\n    z.store(z.load())", names)
tw.entry(names["hidden"])
""",
    "sum-of-a-tile": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.full((4,), sum(z.load())))
launch(kernel)
""",
    "reversed-range": """
@tw.entry
def kernel(z: tl.TensorMut, n: i32) -> None:
    for i in reversed(range(n)):
        z.store(z.load())
launch(kernel, 3)
""",
    "zip-with-a-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    for i, part in zip(range(3), x):
        z.store(z.load())
launch(kernel, np.ones(4, "f4"))
""",
    "unrolled-too-often": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    tile = z.load()
    for k in tl.static_range(10**30):
        tile = tile + float(k)
    z.store(tile)
launch(kernel)
""",
    "comprehension-too-long": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    numbers = [k for k in range(10**9)]
    z.store(z.load())
launch(kernel)
""",
    "open-in-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    open("results.txt", "w")
    z.store(z.load())
launch(kernel)
""",
    "function-of-the-host": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tw.full((4,), 1.0))
launch(kernel)
""",
    "tensor-made-in-a-kernel": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tw.asarray(x))
launch(kernel, np.zeros(8, "f4"))
""",
    "ready-operation-in-a-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tw.ops.softmax(z.load()))
launch(kernel)
""",
    "kernel-in-kernel": """
@tw.entry
def inner(z: tl.TensorMut) -> None:
    z.store(z.load())
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    inner(z)
launch(kernel)
""",
    "list-append": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    tiles = []
    for k in tl.static_range(3):
        tiles.append(z.load() + float(k))
    z.store(tiles[0])
launch(kernel)
""",
    "tile-in-a-tuple": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    if z.load() in (1.0, 2.0):
        z.store(z.load())
launch(kernel)
""",
    "asynchronous-kernel": """
@tw.entry
async def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
""",
    "kernel-of-an-object": """
class Model:
    @tw.entry
    def kernel(self, z: tl.TensorMut) -> None:
        z.store(z.load())
""",
    "entry-twice": """
@tw.entry
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
""",
    "word-of-triton": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() * float(tl.program_id(0)))
launch(kernel)
""",
    "method-of-torch": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load().to(f32))
launch(kernel)
""",
    "function-of-numpy": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load() + np.sum(z.load()))
launch(kernel)
""",
    "returned-on-one-path": """
def helper(t, n):
    if n > 0:
        return t + 1.0
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(helper(z.load(), tl.block_id(0)))
launch(kernel)
""",
    "tile-as-index": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.load_tile((4,), [tl.arange(4)]))
launch(kernel, np.ones(4, "f4"))
""",
    "overlapping-tiles-of-an-output": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.make_strided_view(z, (4,), (1,)).load([0]))
launch(kernel)
""",
    "breakpoint-on-the-cpu": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    tile = z.load()
    breakpoint()
    z.store(tile)
with tw.device("cpu"):
    launch(kernel)
""",
    "breakpoint-with-arguments": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    breakpoint("here")
    z.store(z.load())
launch(kernel)
""",
    "dataclass-that-changes": """
import dataclasses
@dataclasses.dataclass
class Pair:
    a: object
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    pair = Pair(z.load())
    z.store(pair.a)
launch(kernel)
""",
    "tensor-of-the-host": """
@tw.entry
def kernel(z: tl.TensorMut, x: tw.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z))
""",
    "sum-of-too-many": """
kernel = tw.exec(
    "@tw.entry\\ndef kernel(z: tl.TensorMut) -> None:\\n    x = z.load()\\n    z.store("
    + " + ".join(["x"] * 900) + ")",
    {"tw": tw, "tl": tl},
)["kernel"]
launch(kernel)
""",
    "choice-of-too-many": """
choices = "".join(f"    elif n == {k}: x = x + {k}.0\\n" for k in range(1, 300))
kernel = tw.exec(
    "@tw.entry\\ndef kernel(z: tl.TensorMut, n: tw.i32) -> None:\\n    x = z.load()\\n"
    f"    if n == 0: x = x + 1.0\\n{choices}    z.store(x)",
    {"tw": tw, "tl": tl},
)["kernel"]
launch(kernel, 3)
""",
}
