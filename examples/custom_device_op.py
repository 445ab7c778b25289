"""An op of one's own: a class with `execute(ctx)`, which then composes like any other op."""

from __future__ import annotations

import asyncio

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import Arc, DeviceOp, ExecutionContext, Tensor, f32


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """One block adds one tile."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def scale(out: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    """The kernel that the op below wraps."""
    out.store(tl.load_tile_like(x, out) * factor)


class ScaleKernel(DeviceOp[tuple[Arc[f32], Tensor[f32]]]):
    """Owns what it works on, and hides tile sizes and the order of arguments from its users."""

    def __init__(self, source: Arc[f32], output: Tensor[f32], factor: float) -> None:
        self._source, self._output, self._factor = source, tw.move(output), factor

    def execute(self, ctx: ExecutionContext) -> tuple[Arc[f32], Tensor[f32]]:
        """Put the work on the context's stream; who started the op waits for it."""
        launch = scale(self._output.partition((512,)), self._source, self._factor)
        output, _, _ = ctx.run(launch)
        return self._source, output.unpartition()


async def pipeline(n: int) -> None:
    """w = 3 * (x + y), with a tile kernel and the op above."""
    x, y = tw.rand((n,), seed=1), tw.rand((n,), seed=2)
    z = await add(tw.empty((n,)).partition((1024,)), x, y).out()
    op = ScaleKernel(Arc(z), await tw.empty((n,)), 3.0)
    kept, w = await op
    doubled = ScaleKernel(kept, tw.empty((n,)).sync(), 2.0).map(lambda _, out: out)
    np.testing.assert_allclose(w.to_numpy(), 3 * kept.to_numpy(), rtol=1e-6)
    np.testing.assert_allclose((await doubled).to_numpy(), 2 * kept.to_numpy(), rtol=1e-6)


def main() -> None:
    """Run the loop."""
    asyncio.run(pipeline(5003))
    print("custom_device_op: scaled 5003 elements by an op of one's own")


if __name__ == "__main__":
    main()
