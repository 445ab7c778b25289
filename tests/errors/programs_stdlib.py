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
}
