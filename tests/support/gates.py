"""Work that holds up its stream for as long as a test likes, on any device."""

from __future__ import annotations

import ctypes
from typing import Any

import tilewright as tw
from cpu.devices.cpu.gate import PATIENCE, Gate
from support.fake_cuda import FakeCuda
from tilewright.devices.cuda.device import CudaDevice
from tilewright.devices.cuda.record import Record

__all__ = ["PATIENCE", "new_gate"]

PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry gate(.param .u64 word, .param .u64 longest) {
  .reg .u64 %word, %end, %now; .reg .u32 %seen; .reg .pred %again;
  ld.param.u64 %word, [word];
  ld.param.u64 %end, [longest];
  mov.u64 %now, %globaltimer;
  add.u64 %end, %end, %now;
look:
  mov.u64 %now, %globaltimer;
  setp.ge.u64 %again, %now, %end;
  @%again bra out;
  ld.volatile.global.u32 %seen, [%word];
  setp.eq.u32 %again, %seen, 0;
  @%again bra look;
out:
  ret;
}
"""


def new_gate() -> Any:
    """A gate for streams of the default device: `put_on(stream)`, then `open()`."""
    device = tw.default_device()
    if not isinstance(device, CudaDevice):
        return Gate()
    calls = device.context.calls
    return _HeldStream(calls) if isinstance(calls, FakeCuda) else _GpuGate(device)


class _GpuGate:
    """A kernel that looks at a word of the host until it changes."""

    def __init__(self, device: CudaDevice) -> None:
        self._memory = device.staging.allocate(64)
        self._word = ctypes.c_uint32.from_address(self._memory.address)
        self._word.value = 0
        self._module = device.load_module(PTX)
        slots = [self._memory.address, int(PATIENCE * 1e9)]
        function = self._module.function("gate")
        handle = device.context.handle
        self._record = Record(handle, function, (1, 1, 1), (1, 1, 1), 0, slots)

    def put_on(self, stream: Any) -> None:
        stream.launch(self._record, "the gate", self)

    def open(self) -> None:
        self._word.value = 1


class _HeldStream:
    """A stream of a driver in Python, which is told to wait."""

    def __init__(self, calls: FakeCuda) -> None:
        self._calls = calls
        self._streams: list[Any] = []

    def put_on(self, stream: Any) -> None:
        self._streams.append(stream)
        self._calls.hold(stream)

    def open(self) -> None:
        self._calls.release(*self._streams)
