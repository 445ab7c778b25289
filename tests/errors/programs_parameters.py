"""Wrong parameters: optional ones, and those that stand for any number of tensors."""

PROGRAMS = {
    "keyword-varargs": """
@tw.entry
def kernel(z: tl.TensorMut, **rest: tl.Tensor) -> None:
    z.store(z.load())
launch(kernel)
""",
    "varargs-of-numbers": """
@tw.entry
def kernel(z: tl.TensorMut, *rest: f32) -> None:
    z.store(z.load())
launch(kernel)
""",
    "varargs-with-the-name-of-another": """
@tw.entry
def kernel(z: tl.TensorMut, xs_0: f32, *xs: tl.Tensor) -> None:
    z.store(z.load())
launch(kernel)
""",
    "varargs-of-which-too-few": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, *rest: tl.Tensor) -> None:
    z.store(z.load())
launch(kernel)
""",
    "varargs-of-another-type": """
@tw.entry
def kernel(z: tl.TensorMut, *xs: tl.Tensor[f32]) -> None:
    z.store(z.load())
launch(kernel, np.ones(4, np.float32), np.ones(4, np.int32))
""",
    "tuple-of-tensors": """
@tw.entry
def kernel(z: tl.TensorMut, pair: tuple) -> None:
    z.store(z.load())
launch(kernel)
""",
    "tuple-of-numbers": """
@tw.entry
def kernel(z: tl.TensorMut, pair: tuple[f32, ...]) -> None:
    z.store(z.load())
launch(kernel)
""",
    "tuple-of-another-length": """
@tw.entry
def kernel(z: tl.TensorMut, pair: tuple[tl.Tensor, tl.Tensor]) -> None:
    z.store(z.load())
launch(kernel, (np.ones(4, np.float32),))
""",
    "none-for-a-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))
launch(kernel, None)
""",
    "use-of-a-tensor-that-is-none": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor | None) -> None:
    z.store(tl.load_tile_like(x, z))
launch(kernel, None)
""",
    "method-of-a-tensor-that-is-none": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor | None) -> None:
    z.store(x.load_tile((4,), [0]))
launch(kernel, None)
""",
    "optional-keyword": """
@tw.entry
def kernel(z: tl.TensorMut, *, scale: f32 | None = None) -> None:
    z.store(z.load())
launch(kernel)
""",
    "optional-in-a-simt-kernel": """
@simt.kernel
def kernel(z: simt.DisjointSlice[f32], x: simt.Slice[f32] | None) -> None:
    pass
launch(kernel)
""",
}
