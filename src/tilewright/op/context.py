"""What an op is given when it runs: the stream its work goes on."""

from __future__ import annotations

from ..driver.protocol import Device, Stream


class ExecutionContext:
    """Handed to `DeviceOp.execute`: all ops of one chain get the same one."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    @property
    def device(self) -> Device:
        """The device the stream belongs to."""
        return self.stream.device
