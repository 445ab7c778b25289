"""Messages of one size by Gloo, and what is made of the data that travels with them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..tensors.region import Region
from .call import MEAN, Call
from .exchange import HEAD, MESSAGE
from .gloo import Gloo, as_torch

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""

REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": torch.Tensor.add_, "mean": torch.Tensor.add_, "product": torch.Tensor.mul_,
    "min": lambda x, y: torch.minimum(x, y, out=x), "max": lambda x, y: torch.maximum(x, y, out=x),
}  # fmt: skip
TAG = 1
"""Of messages between two ranks; the larger data of these have 0."""


class _Messages:
    """A message to each rank, and one from each. The engine is let go of when its owner closes."""

    def __init__(self, owner: Gloo, rank: int, size: int) -> None:
        self._owner, self._rank = owner, rank
        self._sent = torch.zeros(size * MESSAGE, dtype=torch.uint8)
        self._received = torch.zeros(size * MESSAGE, dtype=torch.uint8)
        self.sends = self._sent.numpy().reshape(size, MESSAGE)
        self.came = self._received.numpy().reshape(size, MESSAGE)

    def combine(self, call: Call, target: Region) -> None:
        """Write the result of a collective, made of the data that came, in the order of ranks."""
        rows = self._received.view(self.came.shape)[:, HEAD:]
        _COMBINED[call.op](call, as_torch(target, call), rows, self._rank)


class Messages(_Messages):
    """Messages between all ranks of an engine."""

    def __init__(self, owner: Gloo) -> None:
        engine = owner.engine()
        super().__init__(owner, engine.rank(), engine.size())
        self._options = torch.distributed.AllToAllOptions()

    def swap(self) -> None:
        """Send, and wait for the messages of all others."""
        self._owner.engine().alltoall_base(self._received, self._sent, [], [], self._options).wait()


class MessagesOfTwo(_Messages):
    """Messages between two ranks: first that of the one which sends data."""

    def __init__(self, owner: Gloo, peer: int, sends: bool) -> None:
        super().__init__(owner, 0 if sends else 1, 2)
        self._peer = peer
        own, other = self._received.view(2, MESSAGE), 1 - self._rank
        self._own, self._its = own[self._rank], own[other]
        self._message = self._sent[:MESSAGE]
        self._tag = TAG + (sends == (owner.engine().rank() < peer))

    def swap(self) -> None:
        """Send, and wait for the message of the peer."""
        engine = self._owner.engine()
        sent = engine.send([self._message], self._peer, self._tag)
        engine.recv([self._its], self._peer, self._tag).wait()
        sent.wait()
        self._own.copy_(self._message)


def _reduced(call: Call, target: Any, parts: Any) -> None:
    """Write what a reduction makes of parts, rows of bytes."""
    add, kind = REDUCTIONS[call.reduce], target.dtype
    first, *others = parts.unbind()
    target.copy_(first.view(kind))
    for other in others:
        add(target, other.view(kind))
    if call.reduce == MEAN:
        target /= len(parts)


def _all_reduce(call: Call, target: Any, rows: Any, rank: int) -> None:
    _reduced(call, target, rows[:, : target.nbytes])


def _reduce_scatter(call: Call, target: Any, rows: Any, rank: int) -> None:
    own = rank * target.nbytes
    _reduced(call, target, rows[:, own : own + target.nbytes])


def _all_gather(call: Call, target: Any, rows: Any, rank: int) -> None:
    target.view(len(rows), -1).copy_(rows[:, : target.nbytes // len(rows)])


def _all_to_all(call: Call, target: Any, rows: Any, rank: int) -> None:
    part = target.nbytes // len(rows)
    target.view(len(rows), -1).copy_(rows[:, rank * part : (rank + 1) * part])


def _broadcast(call: Call, target: Any, rows: Any, rank: int) -> None:
    target.copy_(rows[call.root, : target.nbytes])


def _received(call: Call, target: Any, rows: Any, rank: int) -> None:
    target.copy_(rows[0, : target.nbytes])


_COMBINED = {
    "all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all, "broadcast": _broadcast, "recv": _received,
}  # fmt: skip
