"""What an op is given when it runs: the stream its work goes on."""

from __future__ import annotations

from dataclasses import dataclass

from ..driver.protocol import Device, Stream


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Handed to `DeviceOp.execute`: all ops of one chain get the same one."""

    stream: Stream

    @property
    def device(self) -> Device:
        """The device the stream belongs to."""
        return self.stream.device
