"""Habits from NumPy, PyTorch, Triton and the Rust library; each message gives the right form."""

ADD = """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
"""

IN_PLACE = """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store({})
launch(kernel)
"""

PROGRAMS = {
    "a-mask-as-an-index": IN_PLACE.format("z.load()[z.load() > 0.0]"),
    "a-method-without-its-call": IN_PLACE.format("z.load().sum"),
    "a-cast-of-pytorch": IN_PLACE.format("z.load().half()"),
    "an-element-type-of-the-language": IN_PLACE.format("z.load().astype(tl.f16)"),
    "a-keyword-of-pytorch": IN_PLACE.format("tl.reduce_sum(z.load(), dim=0, keepdim=True)"),
    "a-keyword-of-pytorch-for-a-composed-function": IN_PLACE.format("tl.softmax(z.load(), dim=0)"),
    "a-range-with-steps": IN_PLACE.format("tl.arange(0, 8, 2)"),
    "random-numbers-of-numpy": IN_PLACE.format("np.random.random()"),
    "an-object-of-a-class": """
class Pair:
    pass

@tw.entry
def kernel(z: tl.TensorMut) -> None:
    pair = Pair()
launch(kernel)
""",
    "a-pointer-with-an-index": """
@tw.entry(unsafe=True)
def kernel(z: tl.TensorMut, p: tl.Ptr[f32]) -> None:
    z.store(tl.load_ptr(p[tl.arange(4)]))
with tw.unsafe():
    launch(kernel, tw.ones((4,)).sync().device_pointer())
""",
    "a-pointer-and-its-method-of-rust": """
@tw.entry(unsafe=True)
def kernel(z: tl.TensorMut, p: tl.Ptr[f32]) -> None:
    z.store(tl.load_ptr(p.add(tl.arange(4))))
with tw.unsafe():
    launch(kernel, tw.ones((4,)).sync().device_pointer())
""",
    "loop-over-elements": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    for i in range(0, x.shape[0], 4):
        z.store(x.load_tile((4,), [i]))
launch(kernel, np.ones(10, "f4"))
""",
    "index-of-an-element": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, i: i32) -> None:
    z.store(x.load_tile((4,), [i]))
launch(kernel, np.ones(10, "f4"), 4)
""",
    "index-of-an-element-by-data": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, places: tl.Tensor) -> None:
    z.store(x.load_tile((4,), [places.load_tile((1,), [0]).item()]))
launch(kernel, np.ones(10, "f4"), np.array([4], "i4"))
""",
    "shapes-that-differ-by-less-than-a-tile": ADD + 'launch(kernel, np.ones(3, "f4"))',
    "lower-triangle": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.tril(z.load()))
launch(kernel)
""",
    "written-without-annotation": """
@tw.entry
def kernel(z, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
""",
    "number-minus-mask": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    p = z.load()
    z.store(p - (p > 0))
launch(kernel)
""",
    "product-with-zero-accumulator": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    t = tl.zeros((4, 4))
    z.store(tl.reduce_sum(tl.mma(t, t, 0), 0))
launch(kernel)
""",
    "outer-product": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.outer(z.load(), z.load()))
launch(kernel)
""",
    "method-that-is-a-function": IN_PLACE.format("z.load().exp()"),
    "formula-of-another-library": IN_PLACE.format("tl.softplus(z.load())"),
    "infinity-without-a-module": IN_PLACE.format("-inf"),
    "function-without-a-module": IN_PLACE.format("exp(z.load())"),
    "store-with-a-mask": IN_PLACE.replace("{}", "z.load(), mask=z.load() > 0"),
    "store-of-another-tile": IN_PLACE.replace("{}", "z.load(), [0]"),
    "load-with-a-mask": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z, mask=True))
launch(kernel, np.ones(4, "f4"))
""",
    "tensor-rearranged-in-the-kernel": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.reshape(4))
launch(kernel, np.ones((2, 2), "f4"))
""",
    "tensor-reduced-in-the-kernel": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.sum())
launch(kernel, np.ones(4, "f4"))
""",
    "filled-with-a-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.full(z.shape, x))
launch(kernel, np.ones(4, "f4"))
""",
    "loop-over-a-tile": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    for t in z.load():
        z.store(t)
launch(kernel)
""",
    "list-as-an-array": ADD + "launch(kernel, [1.0, 2.0])",
    "complex-numbers": ADD + 'launch(kernel, np.ones(4, "c8"))',
    "sum-by-numpy": "np.sum(tw.ones((4,)).sync())",
    "exp-by-numpy": "np.exp(tw.ones((4,)).sync())",
    "in-place": ADD + "z = tw.ones((4,)).sync()\nkernel(z.partition_mut((4,)), z).sync()",
    "array-converted": "tw.ones((4,)).sync().numpy()",
    "shape-in-pieces": "tw.rand(3, 4)",
    "zeros-in-pieces": "tw.zeros(3, 4)",
    "value-before-shape": "tw.full(1.0, (3, 4))",
    "like-after-value": "tw.full_like(1.0, tw.ones((4,)).sync())",
    "mean-before-shape": "tw.randn(0.0, 1.0, (3, 4))",
    "ranges-in-a-list": "tw.ones((4, 4)).sync().slice([slice(0, 2), slice(1, 3)])",
    "grid-in-brackets": ADD + "kernel[(4,)](tw.ones((4,)).sync())",
} | {
    f"name-{name}": f"tw.{name}"
    for name in (
        "float32", "half", "float8_e4m3fn", "array", "tensor", "jit", "cuda", "sync", "softmax",
        "program_id", "zeross", "randn_f32", "nothing_like_it",
    )
}  # fmt: skip
