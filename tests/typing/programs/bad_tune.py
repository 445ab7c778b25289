"""Mistakes about tuned kernels."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl


@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2)


tw.autotune(3)  # error
tw.autotune(tw.search(tile=8), tolerance="1")  # error
tw.autotune(tw.search(tile=8))(len)  # error
tw.Config(hints={"occupancy": 2})  # error
tw.function(scale, outputs="x", tune=tw.search(tile=8))  # error
