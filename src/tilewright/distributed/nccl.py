"""Collectives on GPUs, through process groups of torch.distributed with NCCL, in stream order.

The driver runs them on the stream of the op: a graph can contain them, and no thread of the host
takes part.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base.errors import SchedulingError
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.stream import CudaStream
from ..devices.protocol import Device, Stream
from ..tensors.region import Region
from .call import Call
from .gloo import NAMES, ProcessGroup, refuse_elements, run_on

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""


class _Seen:
    """Bytes of a GPU, as torch imports them."""

    def __init__(self, region: Region) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (region.end - region.start,), "strides": None,
            "data": (region.start, False), "stream": None,
        }  # fmt: skip


class Nccl(ProcessGroup):
    """Runs collectives of one process group on streams of one GPU."""

    name = "nccl"
    on_host = False

    def check(self, call: Call, device: Device) -> None:
        """Raise if a collective cannot run on a device, or with such elements."""
        if not isinstance(device, CudaDevice):
            raise SchedulingError(
                f"`{call.op}` of this group runs on GPUs",
                expected="tensors of a GPU", got=f"tensors on {device!r}",
                hint="make the group with backend='gloo', or copy with .to('cuda')",
            )  # fmt: skip
        refuse_elements(call)

    def refuse_capture(self, call: Call) -> None:
        """Return: NCCL's work can be part of a graph."""

    def run(
        self, call: Call, target: Region | None, source: Region | None, peer: int, stream: Stream
    ) -> None:
        """Enqueue a collective on a stream, which may be captured."""
        assert isinstance(stream, CudaStream)
        group, device = self.group(), torch.device("cuda", stream.device.ordinal)

        def enqueue() -> None:
            with torch.cuda.stream(torch.cuda.ExternalStream(stream.handle, device=device)):
                reads = _as_torch(source, call, device)
                writes = _as_torch(target, call, device)
                run_on(group, call, writes, reads, peer)

        stream.put((source, target), enqueue)

    def abort(self) -> None:
        """Break off what is under way, on the GPU too, where it would wait for ever."""
        if self._group is not None:
            torch.distributed.distributed_c10d._abort_process_group(self._group)
            self._group, self._ends = None, None


def _as_torch(region: Region | None, call: Call, device: Any) -> Any:
    """Return memory of a GPU as a torch tensor of rank 1; as bytes if that is enough."""
    if region is None:
        return None
    empty = region.start == region.end
    seen = (
        torch.empty(0, dtype=torch.uint8, device=device)
        if empty
        else torch.as_tensor(_Seen(region), device=device)
    )
    return seen.view(NAMES[call.dtype][1]) if call.reduce else seen
