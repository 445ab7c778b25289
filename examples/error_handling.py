"""What goes wrong is an exception that names the op and the line; inputs stay usable after it."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def root(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Square roots; a negative number fails an assertion of the kernel, on any device."""
    tile = tl.load_tile_like(x, out, padding=tl.pos_inf)
    assert tl.reduce_min(tile, 0) >= 0.0, "negative input"
    out.store(tl.sqrt(tile))


def refused_shape() -> str:
    """Shapes that do not fit are refused before anything runs."""
    z = tw.zeros((4, 4)).sync()
    try:
        z.copy_from(np.zeros((4, 5), np.float32))
    except tw.ShapeError as error:
        return f"ShapeError: expected {error.expected}, got {error.got}"
    raise AssertionError("not refused")


def ended_borrow() -> str:
    """An op whose tensor was written in the meantime does not run."""
    x = tw.ones((256,)).sync()
    late = root(tw.empty((256,)).sync().partition((256,)), x)
    tw.fill(x, 4.0).sync()
    try:
        late.sync()
    except tw.BorrowError as error:
        return f"BorrowError: {error.message}"
    raise AssertionError("not refused")


def failed_kernel() -> str:
    """An error ends the chain: what was to be done with the data is not called."""
    x = tw.from_numpy([4.0, -1.0, 9.0, 16.0]).sync()
    out = tw.empty((4,)).sync()
    called: list[str] = []
    launch = root(out.partition_mut((4,)), x)
    chain = launch.then(lambda out, x: x.to_host_vec()).map(lambda data: called.append("after"))
    try:
        chain.sync()
    except tw.LaunchError as error:
        assert called == []
        message = f"LaunchError: {error.message.splitlines()[0]}"
    else:
        raise AssertionError("no error")
    tw.fill(x.borrow_mut()[1:2], 1.0).sync()  # the tensors are as usable as before
    root(out.partition_mut((4,)), x).sync()
    np.testing.assert_allclose(out.to_numpy(), [2, 1, 3, 4], rtol=1e-6)
    return message


def main() -> None:
    """Provoke each of them."""
    for line in (refused_shape(), ended_borrow(), failed_kernel()):
        print(line)
    print("error_handling: three errors, and everything still works")


if __name__ == "__main__":
    main()
