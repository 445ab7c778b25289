"""A foreign kernel, launched by hand and as an op of its own."""

from __future__ import annotations

import tilewright as tw
from tilewright import Arc, DeviceOp, ExecutionContext, LaunchConfig, Tensor, f32


def pushed(function, factor, x, out):
    """An op: out = factor * x, its arguments pushed one by one."""
    launch = tw.AsyncKernelLaunch(function)
    launch.push_arg(tw.u32(out.size)).push_arg(tw.f32(factor))
    with tw.unsafe():
        launch.push_device_ptr(x.device_pointer()).push_device_ptr(out.device_pointer())
    return launch.set_launch_config(LaunchConfig((-(-out.size // 256), 1, 1), (256, 1, 1)))


class ScaleKernel(DeviceOp[tuple[Arc[f32], Tensor[f32]]]):
    """The same as an op with typed fields; what is unsafe stays inside."""

    def __init__(self, function, factor: float, source: Arc[f32], output: Tensor[f32]) -> None:
        self._function, self._factor = function, factor
        self._source, self._output = source, tw.move(output)
        self.seen: list[ExecutionContext] = []

    def execute(self, ctx: ExecutionContext) -> tuple[Arc[f32], Tensor[f32]]:
        self.seen.append(ctx)
        ctx.run(pushed(self._function, self._factor, self._source.value, self._output))
        return self._source, self._output
