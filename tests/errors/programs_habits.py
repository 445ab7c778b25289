"""Habits from NumPy, PyTorch, Triton and the Rust library; each message gives the right form."""

ADD = """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
"""

PROGRAMS = {
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
