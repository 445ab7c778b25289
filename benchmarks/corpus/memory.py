"""Memory of ours with the numbers of torch's tensors, and the stream that all contestants share."""

from __future__ import annotations

from typing import Any

import tilewright as tw

from ..gpu.ours import stream
from .case import Tensor

_OWNED: dict[int, tuple[Tensor, Any]] = {}
"""Tensors of torch, by their identity, and what we have of them."""


def ours(value: Any, device: str) -> Any:
    """The same numbers in memory of ours: on the CPU the same memory. Numbers stay as they are."""
    if not hasattr(value, "data_ptr"):
        return value
    if id(value) not in _OWNED:
        _OWNED[id(value)] = value, _made(value, device)
    return _OWNED[id(value)][1]


def _made(tensor: Tensor, device: str) -> Any:
    alias = tw.asarray(tensor)
    if device == "cpu":
        return alias
    made = tw.empty(tuple(tensor.shape), alias.dtype).sync_on(stream())
    tw.memcpy(made, alias).sync_on(stream())
    return made


def start(op: Any, device: str) -> None:
    """Run an op as a user of that device does."""
    if device == "cpu":
        op.sync()
    else:
        op.start_on(stream())


def refill(mine: Any, tensor: Tensor, device: str) -> None:
    """Copy torch's numbers to memory of ours."""
    if device != "cpu":
        tw.memcpy(mine, tw.asarray(tensor)).sync_on(stream())


def fetch(tensor: Tensor, mine: Any, device: str) -> None:
    """Copy the numbers of memory of ours to torch."""
    if device != "cpu":
        tw.memcpy(tw.asarray(tensor), mine).sync_on(stream())


def forget() -> None:
    """Let go of all copies."""
    _OWNED.clear()
