"""Collectives on memory of the host, by Gloo, through torch.distributed.

The elements stay where they are: torch sees the memory of our tensors, without a copy. The engine
is separate from the process groups that torch lists, so what a program does with these does not get
between our collectives; and it has a part of the store that none has used before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import SchedulingError
from ..devices.protocol import Device, Stream
from ..tensors.region import Region
from .call import MEAN, Call
from .elements import NAMES, REDUCTIONS, refuse_elements
from .exchange import FEW, Channel
from .store import Patience, Store

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""


class Gloo:
    """Runs collectives of some ranks on threads of the host."""

    on_host = True

    def __init__(
        self, store: Store, rank: int, size: int, patience: Patience, ends: Any = None
    ) -> None:
        """Connect all ranks, which meet in a store; `ends` is a process group that ends with this,
        if one does.
        """
        late = timedelta(seconds=patience.broken)
        self._engine: Any = torch.distributed.ProcessGroupGloo(store, rank, size, late)
        self._rank, self._ends = rank, ends

    def engine(self) -> Any:
        """Return torch's engine; a RuntimeError if this was closed meanwhile."""
        if self._engine is None:
            raise RuntimeError("the process group was closed")
        return self._engine

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
        if self.engine().size() > FEW:
            return None
        among: Channel = channels.Messages(self)
        return among

    def run(
        self, call: Call, target: Region | None, source: Region | None, peer: int, stream: Stream
    ) -> None:
        """Run a collective now, to its end."""
        engine, reads, writes = self.engine(), as_torch(source, call), as_torch(target, call)
        _RUNS[call.op](engine, call, writes, reads, peer).wait()
        if call.reduce == MEAN:
            writes /= engine.size()

    def split(self, members: Sequence[int], patience: Patience, store: Store) -> Gloo:
        """Return what moves the data of some of the ranks; all of these call it."""
        return Gloo(store, members.index(self._rank), len(members), patience)

    def abort(self) -> None:
        """Break off what is under way: connections end when nothing uses them."""
        self.close()

    def close(self) -> None:
        """Let go of the engine, and end the process group that ends with it; may be repeated."""
        ends, self._engine, self._ends = self._ends, None, None
        if ends is not None:
            torch.distributed.destroy_process_group(ends)


def as_torch(region: Region | None, call: Call) -> Any:
    """Return memory of the host as a torch tensor of rank 1; as bytes if that is enough."""
    if region is None:
        return None
    flat = region.array().reshape(-1)
    if not call.reduce:
        return torch.from_numpy(flat.view(np.uint8))
    seen, kind = NAMES[call.dtype]
    return torch.from_numpy(flat.view(seen)).view(kind)


def _all_reduce(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    return engine.allreduce([target], _reducing(torch.distributed.AllreduceOptions, call))


def _all_gather(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    return engine._allgather_base(target, source)


def _reduce_scatter(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    options = _reducing(torch.distributed.ReduceScatterOptions, call)
    return engine._reduce_scatter_base(target, source, options)


def _all_to_all(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    return engine.alltoall_base(target, source, [], [], torch.distributed.AllToAllOptions())


def _broadcast(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    options = torch.distributed.BroadcastOptions()
    options.rootRank = call.root
    return engine.broadcast([target], options)


def _send(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    return engine.send([source], peer, 0)


def _recv(engine: Any, call: Call, target: Any, source: Any, peer: int) -> Any:
    return engine.recv([target], peer, 0)


def _reducing(kind: Callable[[], Any], call: Call) -> Any:
    """Return options of torch that name the reduction of a call."""
    options = kind()
    options.reduceOp = REDUCTIONS[call.reduce]
    return options


_RUNS = {
    "all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all, "broadcast": _broadcast, "send": _send, "recv": _recv,
}  # fmt: skip
