"""Wrong calls of the standard library: each message shows the line of the call."""

PROGRAMS = {
    "composed-with-a-wrong-axis": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.softmax(z.load(), 1))
launch(kernel)
""",
    "composed-of-integers": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.silu(tl.arange(4)))
launch(kernel)
""",
    "composed-with-a-wrong-argument": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    values, indices = tl.topk(z.load(), 3)
    z.store(values)
launch(kernel)
""",
    "composed-with-an-unknown-keyword": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.sort(z.load(), reverse=True))
launch(kernel)
""",
    "composed-with-a-variable": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    first, second = tl.split(z.load(), tl.block_id(0) + 2)
    z.store(tl.cat(second, first))
launch(kernel)
""",
    "composed-in-a-function": """
def best(x):
    return tl.topk(x, 8)[0]

@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(best(z.load()))
launch(kernel)
""",
    "combined-before-the-identity": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.scan(z.load(), 0, lambda a, b: a + b, 0.0))
launch(kernel)
""",
    "combined-by-a-number": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.reduce(z.load(), 0, 0.0, 1.0))
launch(kernel)
""",
    "combined-by-a-function-of-pairs": """
def later(a, b):
    return b

@tw.entry
def kernel(z: tl.TensorMut) -> None:
    values, marks = tl.scan((z.load(), tl.arange(4)), 0, (0.0, 0), later)
    z.store(values)
launch(kernel)
""",
    "composed-on-the-host": """
tl.sort(np.zeros(4))
""",
    "composed-by-the-name-of-a-method": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load().softmax(0))
launch(kernel)
""",
    "composed-by-the-name-of-numpy": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(np.sort(z.load()))
launch(kernel)
""",
    "random-numbers-of-a-shape": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.rand(z.shape))
launch(kernel)
""",
    "random-numbers-of-float-offsets": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.rand(1, z.load()))
launch(kernel)
""",
    "random-numbers-of-a-wrong-type": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.rand(1, tl.arange(4), f16).astype(f32))
launch(kernel)
""",
    "random-integers-without-a-range": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.randint(1, tl.arange(4), 5, 5).astype(f32))
launch(kernel)
""",
    "random-integers-without-a-range-at-launch": """
@tw.entry
def kernel(z: tl.TensorMut, low: i32) -> None:
    z.store(tl.randint(1, tl.arange(4), low, 5).astype(f32))
launch(kernel, 7)
""",
    "asin-of-integers": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.asin(tl.arange(4)))
launch(kernel)
""",
    "trunc-of-integers": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.trunc(tl.arange(4)))
launch(kernel)
""",
    "gather-without-an-axis": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.gather(z.load(), tl.arange(4)))
launch(kernel)
""",
    "gather-at-floats": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.gather(z.load(), z.load(), 0))
launch(kernel)
""",
    "gather-of-another-shape": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    rows = z.load().reshape(2, 2)
    z.store(tl.gather(rows, tl.arange(8).reshape(4, 2), 1).reshape(8))
launch(kernel)
""",
    "cat-of-no-power-of-two": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    x = z.load()
    z.store(tl.cat((x, x, x)))
launch(kernel)
""",
    "cat-of-one-tile": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.cat(z.load()))
launch(kernel)
""",
    "cumprod-of-a-wrong-axis": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(tl.cumprod(z.load(), 1))
launch(kernel)
""",
}
