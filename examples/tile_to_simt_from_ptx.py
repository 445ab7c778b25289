"""The pipeline of tile_to_simt, its SIMT stage loaded from a PTX file on disk. Needs a GPU.

    tilewright build examples/tile_to_simt.py --emit ptx
    tilewright run examples/tile_to_simt_from_ptx threshold_scale.ptx

The file may come from any compiler. What is in it is beyond our sight, so its launch is wrapped in
an op that takes typed tensors: there the unsafe part ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tilewright as tw
from tile_to_simt import COLS, PASS, ROWS, SCALE, THRESHOLD, TILE, given, row_softmax, softmax
from tilewright import DeviceOp, ExecutionContext, LaunchConfig, Tensor, f32
from tilewright.devices.protocol import Function

BLOCK = 256
FILE = "threshold_scale.ptx"


class ThresholdScale(DeviceOp[tuple[Tensor[f32], Tensor[f32]]]):
    """Runs the kernel of the file: what reaches the threshold is scaled, the rest becomes 0."""

    def __init__(
        self, function: Function, out: Tensor[f32], x: Tensor[f32], threshold: float, scale: float
    ) -> None:
        if x.size < out.size or not (x.is_contiguous and out.is_contiguous):
            raise ValueError(f"{x!r} does not cover {out!r}, element by element")
        self._function, self._numbers = function, (tw.f32(threshold), tw.f32(scale))
        self._out, self._x = tw.move(out), tw.move(x)

    def execute(self, ctx: ExecutionContext) -> tuple[Tensor[f32], Tensor[f32]]:
        """Put the launch on the context's stream."""
        launch = tw.AsyncKernelLaunch(self._function)
        with tw.unsafe():
            # The op owns both tensors, `out` is written by its own threads alone, `x` only read.
            for tensor in (self._out, self._x):
                launch.push_device_ptr(tensor.device_pointer())
                launch.push_arg(tw.u64(tensor.size))
        for number in self._numbers:
            launch.push_arg(number)
        blocks = -(-self._out.size // BLOCK)
        launch.set_launch_config(LaunchConfig((blocks, 1, 1), (BLOCK, 1, 1)))
        ctx.run(launch)
        return self._out, self._x


def read(path: Path) -> bytes:
    """The text of a PTX file; says how to build one that is not there."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SystemExit(
            f"failed to read the SIMT kernel's PTX at {path}: {error.strerror}\n"
            f"build it with: tilewright build examples/tile_to_simt.py --emit ptx -o {path}"
        ) from None


def main(path: str = FILE) -> None:
    """Run the chain and check every element."""
    ptx, device = read(Path(path)), tw.default_device().name
    if not device.startswith("cuda"):
        raise SystemExit(f"PTX runs on NVIDIA GPUs, and the default device is {device!r};"
                         " examples/tile_to_simt.py runs on both")  # fmt: skip
    function = tw.load_module_from_ptx(ptx, device).load_function("threshold_scale")
    x = given()
    out = tw.zeros((ROWS, COLS)).sync()
    pipeline = row_softmax(tw.zeros((ROWS, COLS)).partition(TILE), x).then(
        lambda p, x: ThresholdScale(function, out, p.unpartition(), THRESHOLD, SCALE)
    )
    gated, _ = pipeline.sync()
    expected = softmax(x)
    wanted = np.where(expected >= THRESHOLD, SCALE * expected, 0.0)
    np.testing.assert_allclose(gated.to_numpy(), wanted, rtol=0, atol=1e-5)
    print(PASS)


if __name__ == "__main__":
    main(*sys.argv[1:2])
