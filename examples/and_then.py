"""Chains: `then` runs the op that a function builds of the result, `map` a function of the host."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import DeviceOp, Tensor, f32


@tw.entry
def axpb(out: tl.TensorMut[f32], x: tl.Tensor[f32], a: f32, b: f32) -> None:
    """A x plus b."""
    out.store(tl.load_tile_like(x, out) * a + b)


def step(x: Tensor[f32], a: float, b: float) -> DeviceOp[Tensor[f32]]:
    """One kernel, as an op that gives its output."""
    return axpb(tw.empty_like(x).partition((256,)), x, a, b).out()


def main() -> None:
    """Five kernels and a copy to the host in one op, which runs on one stream without a pause."""
    seen: list[Tensor[f32]] = []
    op = tw.arange(0.0, 1000.0)
    for i in range(5):
        op = op.then(step, 0.5, float(i))  # extra arguments are bound now
    total = op.inspect(seen.append).to_numpy().map(lambda a: float(a.sum()))
    found = total.sync()
    expected = np.arange(1000, dtype=np.float32)
    for i in range(5):
        expected = expected * np.float32(0.5) + np.float32(i)
    np.testing.assert_allclose(seen[0].to_numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(found, expected.sum(), rtol=1e-5)
    print(f"and_then: five steps in one op, the sum is {found:.1f}")


if __name__ == "__main__":
    main()
