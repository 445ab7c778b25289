"""Collectives on GPUs, through process groups of torch.distributed with NCCL, in stream order.

The driver runs them on the stream of the op: a graph can contain them, and no thread of the host
takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

from ..base.errors import SchedulingError
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.stream import CudaStream
from ..devices.protocol import Device, Stream
from ..tensors.region import Region
from .call import MEAN, Call
from .elements import NAMES, REDUCTIONS, refuse_elements
from .exchange import Channel
from .store import Patience, Store

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""


class _Seen:
    """Bytes of a GPU, as torch imports them."""

    def __init__(self, region: Region) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (region.end - region.start,), "strides": None,
            "data": (region.start, False), "stream": None,
        }  # fmt: skip


class Nccl:
    """Runs collectives of one process group on streams of one GPU."""

    on_host = False

    def __init__(self, group: Any, ends: Any = None) -> None:
        """Take the group, and that which ends with this, if one does: the same, or a larger one."""
        self._group, self._ends = group, ends

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
        group, device = self._standing(), torch.device("cuda", stream.device.ordinal)

        def enqueue() -> None:
            with torch.cuda.stream(torch.cuda.ExternalStream(stream.handle, device=device)):
                reads = _as_torch(source, call, device)
                writes = _as_torch(target, call, device)
                run_on(group, call, writes, reads, peer)

        stream.put((source, target), enqueue)

    def _standing(self) -> Any:
        if self._group is None:
            raise RuntimeError("the process group was closed")
        return self._group

    def channel(self, peer: int, sends: bool) -> Channel | None:
        """Return None: the ranks agree in their store."""
        return None

    def split(self, members: Sequence[int], patience: Patience, store: Store) -> Nccl:
        """Return what moves the data of some of the ranks; all of these call it."""
        dist = torch.distributed
        ranks = dist.get_process_group_ranks(self._standing())
        part = dist.new_group(
            [ranks[member] for member in members], timedelta(seconds=patience.broken), "nccl",
            use_local_synchronization=True,
        )  # fmt: skip
        return Nccl(part, ends=part)

    def abort(self) -> None:
        """Break off what is under way, on the GPU too, where it would wait for ever."""
        if self._group is not None:
            torch.distributed.distributed_c10d._abort_process_group(self._group)
            self._group, self._ends = None, None

    def close(self) -> None:
        """Let go of the group, and end it if it ends with this; may be repeated."""
        ends, self._group, self._ends = self._ends, None, None
        if ends is not None:
            torch.distributed.destroy_process_group(ends)


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


def run_on(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    """Run a collective of a process group on tensors of rank 1."""
    _RUNS[call.op](group, call, target, source, peer)
    if call.reduce == MEAN:
        target /= group.size()


def _renamed(name: str, older: str) -> Any:
    """Return a function of torch that older versions call otherwise."""
    return getattr(torch.distributed, name, None) or getattr(torch.distributed, older)


def _all_reduce(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    torch.distributed.all_reduce(target, REDUCTIONS[call.reduce], group=group)


def _all_gather(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    _renamed("all_gather_single", "all_gather_into_tensor")(target, source, group=group)


def _reduce_scatter(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    scatter = _renamed("reduce_scatter_single", "reduce_scatter_tensor")
    scatter(target, source, REDUCTIONS[call.reduce], group=group)


def _all_to_all(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    torch.distributed.all_to_all_single(target, source, group=group)


def _broadcast(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    torch.distributed.broadcast(target, group=group, group_src=call.root)


def _send(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    torch.distributed.send(source, group=group, group_dst=peer)


def _recv(group: Any, call: Call, target: Any, source: Any, peer: int) -> None:
    torch.distributed.recv(target, group=group, group_src=peer)


_RUNS = {
    "all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all, "broadcast": _broadcast, "send": _send, "recv": _recv,
}  # fmt: skip
