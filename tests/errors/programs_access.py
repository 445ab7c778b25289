"""Wrong loads and stores: what is stored, and where."""

PROGRAMS = {
    "store-of-a-column-without-its-axis": """
@tw.entry
def kernel(z: tl.TensorMut, out: tl.TensorMut[f32]) -> None:
    out.store(z.load())
    z.store(0.0)
x = tw.ones((4, 2)).sync()
launch(kernel, x.partition_mut((4, 2)))
""",
    "store-of-a-number-that-does-not-fit": """
@tw.entry
def kernel(z: tl.TensorMut, out: tl.TensorMut[i32]) -> None:
    z.store(0.0)
    out.store(0.5)
x = tw.ones((4,), i32).sync()
launch(kernel, x.partition_mut((4,)))
""",
    "load-at-a-negative-offset": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.load_at(-1, 4))
launch(kernel, np.ones(4, np.float32))
""",
    "load-at-offsets-of-another-rank": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.load_at((0, 0), 4))
launch(kernel, np.ones(4, np.float32))
""",
    "load-at-an-offset-outside": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, start: i32) -> None:
    z.store(x.load_at(start, 4))
launch(kernel, np.ones(4, np.float32), 4)
""",
    "load-at-an-offset-that-data-gives": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.load_at(x.load_tile(1, 0).item().astype(i32), 4))
launch(kernel, np.full(4, 9, np.float32))
""",
    "store-at-an-offset-outside-the-region": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store_at(z.load(), 4)
launch(kernel)
""",
    "store-at-an-offset-of-an-input": """
@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    x.store_at(z.load(), 0)
launch(kernel, np.ones(4, np.float32))
""",
    "accumulator-that-is-read": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    z.store(acc.load())
launch(kernel, tw.zeros((4,)).sync().borrow_mut())
""",
    "accumulator-in-arithmetic": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    z.store(acc + 1.0)
launch(kernel, tw.zeros((4,)).sync().borrow_mut())
""",
    "accumulator-at-places-of-another-rank": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.add(z.load(), (0, 0))
launch(kernel, tw.zeros((4,)).sync().borrow_mut())
""",
    "accumulator-numbered-along-two-axes": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.add(1, (tl.arange(4), tl.arange(4)))
launch(kernel, tw.zeros((4, 4)).sync().borrow_mut())
""",
    "accumulator-with-more-numbers-than-elements": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.add(z.load(), tl.arange(8))
launch(kernel, tw.zeros((4,)).sync().borrow_mut())
""",
    "accumulator-of-another-element-type": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[i32]) -> None:
    acc.add(z.load(), 0)
launch(kernel, tw.zeros((4,), i32).sync().borrow_mut())
""",
    "accumulator-of-floats-by-maximum": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.max(z.load(), 0)
launch(kernel, tw.zeros((4,)).sync().borrow_mut())
""",
    "accumulator-out-of-bounds": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.add(1, tl.arange(4) * 2)
launch(kernel, tw.zeros((4,)).sync().borrow_mut())
""",
    "accumulator-given-a-tensor": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.add(z.load(), 0)
launch(kernel, tw.zeros((4,)).sync())
""",
    "accumulator-given-a-number": """
@tw.entry
def kernel(z: tl.TensorMut, acc: tl.Accumulator[f32]) -> None:
    acc.add(z.load(), 0)
launch(kernel, 3)
""",
    "accumulator-without-a-grid": """
@tw.entry
def kernel(acc: tl.Accumulator[f32]) -> None:
    acc.add(1, 0)
kernel(tw.zeros((4,)).sync().borrow_mut()).sync()
""",
}
