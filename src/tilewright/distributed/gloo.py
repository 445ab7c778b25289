"""Collectives on memory of the host, through process groups of torch.distributed with Gloo.

The elements stay where they are: torch sees the memory of our tensors, without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any, Self

import numpy as np

from ..base.errors import SchedulingError, ShapeError
from ..devices.protocol import Device, Stream
from ..tensors.region import Region
from .call import MEAN, Call
from .exchange import FEW, Channel
from .store import Patience

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""

NAMES: dict[str, tuple[Any, Any]] = {
    "f32": (np.float32, torch.float32), "f64": (np.float64, torch.float64),
    "f16": (np.float16, torch.float16), "bf16": (np.int16, torch.bfloat16),
    "i8": (np.int8, torch.int8), "u8": (np.uint8, torch.uint8),
    "i32": (np.int32, torch.int32), "i64": (np.int64, torch.int64),
    "u32": (np.int32, torch.int32), "u64": (np.int64, torch.int64),
    "bool": (np.uint8, torch.uint8),
}  # fmt: skip
"""Element types that can be combined: NumPy's to make an array of that size, and torch's."""
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "u8", "i32", "i64")
COMBINED = {
    "mean": FLOATS, "sum": (*FLOATS, *INTEGERS, "u32", "u64"),
    "product": (*FLOATS, *INTEGERS, "u32", "u64"),
    "min": (*FLOATS, *INTEGERS, "bool"), "max": (*FLOATS, *INTEGERS, "bool"),
}  # fmt: skip
"""What each reduction can be made of. Sums and products have the same bits with and without a sign;
the least and the greatest of bools are those of bytes."""

REDUCTIONS: dict[str, Any] = {
    "sum": torch.distributed.ReduceOp.SUM, "mean": torch.distributed.ReduceOp.SUM,
    "product": torch.distributed.ReduceOp.PRODUCT,
    "min": torch.distributed.ReduceOp.MIN, "max": torch.distributed.ReduceOp.MAX,
}  # fmt: skip


class ProcessGroup:
    """A process group of torch.distributed."""

    name = ""
    """What torch calls the backend."""

    def __init__(self, group: Any, ends: Any = None) -> None:
        """Take the group, and that which ends with this, if one does: the same, or a larger one."""
        self._group, self._ends = group, ends

    def group(self) -> Any:
        """Return the group of torch; a RuntimeError if this was closed meanwhile."""
        if self._group is None:
            raise RuntimeError("the process group was closed")
        return self._group

    def split(self, members: Sequence[int], patience: Patience) -> Self:
        """Return what moves the data of some of the ranks; all of these call it."""
        part = new_part(self.group(), members, patience, self.name)
        return type(self)(part, ends=part)

    def channel(self, peer: int, sends: bool) -> Channel | None:
        """Return what carries messages between the ranks; None: they agree in their store."""
        return None

    def abort(self) -> None:
        """Break off what is under way, as far as the engine can."""
        self.close()

    def close(self) -> None:
        """Let go of the process group, and end it if it ends with this; may be repeated."""
        ends, self._group, self._ends = self._ends, None, None
        if ends is not None:
            torch.distributed.destroy_process_group(ends)


def new_part(group: Any, members: Sequence[int], patience: Patience, backend: str) -> Any:
    """Return a new process group of some of the ranks of another one; all of these call it."""
    dist = torch.distributed
    ranks = dist.get_process_group_ranks(group)
    return dist.new_group(
        [ranks[member] for member in members], timedelta(seconds=patience.broken), backend,
        use_local_synchronization=True,
    )  # fmt: skip


class Gloo(ProcessGroup):
    """Runs collectives of one process group on threads of the host."""

    name = "gloo"
    on_host = True

    def check(self, call: Call, device: Device) -> None:
        """Raise if a collective cannot run on a device, or with such elements."""
        if not device.host_visible:
            raise SchedulingError(
                f"`{call.op}` of this group runs on memory of the host",
                expected="tensors of a CPU device", got=f"tensors on {device!r}",
                hint="make the group with backend='nccl', or copy with .to('cpu')",
            )  # fmt: skip
        refuse_elements(call)

    def refuse_capture(self, call: Call) -> None:
        """Raise: threads of the host are no part of a graph."""
        raise SchedulingError(
            f"`{call.op}` cannot be captured: Gloo runs it on a thread of the host",
            expected="a group of the backend 'nccl', whose collectives a graph can contain",
            hint="end the captured part before it, and launch another graph after it",
        )

    def channel(self, peer: int, sends: bool) -> Channel | None:
        """Return what carries messages between the ranks; None: they agree in their store."""
        channels: Any = import_module(".gloo_channel", __package__)  # which needs this module
        if peer >= 0:
            between: Channel = channels.MessagesOfTwo(self, peer, sends)
            return between
        if self.group().size() > FEW:
            return None
        among: Channel = channels.Messages(self)
        return among

    def run(
        self, call: Call, target: Region | None, source: Region | None, peer: int, stream: Stream
    ) -> None:
        """Run a collective now, to its end."""
        reads, writes = as_torch(source, call), as_torch(target, call)
        run_on(self.group(), call, writes, reads, peer)


def refuse_elements(call: Call) -> None:
    """Raise if elements of this type cannot be combined."""
    if call.reduce and call.dtype not in COMBINED[call.reduce]:
        wide = "f32" if call.reduce == MEAN or call.dtype.startswith("f") else "i32 or tw.i64"
        raise ShapeError(
            f"`{call.op}` cannot make a {call.reduce} of {call.dtype}",
            expected=f"elements of {', '.join(COMBINED[call.reduce])}",
            got=call.dtype,
            hint=f"convert the tensor: tw.convert(x, tw.{wide})",
        )


def as_torch(region: Region | None, call: Call) -> Any:
    """Return memory of the host as a torch tensor of rank 1; as bytes if that is enough."""
    if region is None:
        return None
    flat = region.array().reshape(-1)
    if not call.reduce:
        return torch.from_numpy(flat.view(np.uint8))
    seen, kind = NAMES[call.dtype]
    return torch.from_numpy(flat.view(seen)).view(kind)


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
