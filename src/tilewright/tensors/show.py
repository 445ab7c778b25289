"""Pictures of tensors: their properties, their state and their values. Never raises or waits."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from threading import get_ident
from typing import Any

import numpy as np

from ..base.dtypes import f4e2m1fnx2
from ..base.errors import Error
from ..base.shapes import size
from ..base.showing import preformatted, table
from ..op.nesting import RECORDERS, THREAD
from ..op.place import place_of
from .order import is_in_flight
from .ownership import Handle
from .putting import peeked
from .region import Region
from .views import selected

__all__ = ["facts", "html_of", "state_in_words", "summary_of", "table", "text_of"]

MOST_COPIED = 16
"""Corners of a summarized tensor that are copied from a GPU."""


def summary_of(handle: Handle) -> str:
    """Describe a tensor without its values, as messages do."""
    return f"Tensor({_properties(handle, [handle.state])})"


def text_of(handle: Handle) -> str:
    """Return the repr of a tensor: its values as NumPy shows them, if they can be seen now."""
    why = _why_hidden(handle)
    shown = None if why else _values(handle.region, len("Tensor("))
    words = [handle.state, *([why] if why != handle.state else [])]
    if shown is None:
        return f"Tensor({_properties(handle, words, in_flight=why != 'in flight')})"
    rest = _properties(handle, words)
    width = np.get_printoptions()["linewidth"]
    last = shown.rsplit("\n", 1)[-1]
    fits = len(last) + len(rest) + len("Tensor(, )") <= width
    return f"Tensor({shown},{' ' if fits else chr(10) + ' ' * len('Tensor(')}{rest})"


def html_of(handle: Handle, title: str = "Tensor", more: Iterable[tuple[str, object]] = ()) -> str:
    """Return the facts about a tensor, and its values under them."""
    why = _why_hidden(handle)
    shown = None if why else _values(handle.region, 0)
    rows = [*facts(handle), *more]
    return table(title, rows, "" if shown is None else preformatted(shown))


def facts(handle: Handle) -> list[tuple[str, object]]:
    """Return the properties of a tensor that are known in every state."""
    region = handle.region
    return [
        ("shape", region.shape),
        ("dtype", region.dtype.name),
        ("device", region.storage.device.name),
        ("state", state_in_words(handle)),
    ]


def state_in_words(handle: Handle) -> str:
    """Describe who has a tensor, how it is used, and since which line."""
    moved = handle.moved
    if moved is not None:
        return f"moved: consumed by {moved.what}, {place_of(moved.location)}"
    words = [handle.state or "owned"]
    ticket = handle.ticket
    if ticket is not None and (ender := ticket.ended_by()) is not None:
        words.append(f"ended: it was {ender}, {place_of(ender.location)}")
    if handle.owners() > 1:
        words.append(f"shared by {handle.owners()} owners")
    for lease in handle.region.storage.state.live_leases():
        words.append(f"{lease.kind.while_}, {place_of(lease.location)}")
    if is_in_flight(handle.region):
        words.append("in flight: work that writes it has been started")
    return "; ".join(words)


def _properties(handle: Handle, states: Iterable[str], *, in_flight: bool = True) -> str:
    region = handle.region
    words = [word for word in states if word]
    if in_flight and is_in_flight(region):
        words.append("in flight")
    state = "".join([f", {word}" for word in words])
    name = region.storage.device.name
    device = "" if name == "cpu" else f", device={name!r}"
    return f"shape={region.shape}, dtype={region.dtype.name}{device}{state}"


def _why_hidden(handle: Handle) -> str:
    """Return why the values cannot be seen now; "" if they can."""
    if handle.state not in ("", "view", "part"):
        return handle.state
    if handle.ticket is not None and handle.ticket.ended_by() is not None:
        return "ended"
    for lease in handle.region.storage.state.live_leases():
        if lease.refuses_reading:
            return lease.kind.while_
    if is_in_flight(handle.region):
        return "in flight"
    recorder = RECORDERS.get(get_ident()) if RECORDERS else None
    if recorder is not None and recorder.promises(handle.region):
        return "written when the graph runs"
    return ""


def _values(region: Region, indent: int) -> str | None:
    """Return the values as NumPy shows an array; None: they cannot be copied from the device."""
    options: Any = np.get_printoptions()
    edge = options["edgeitems"]
    summarized = size(region.shape) > options["threshold"]
    array = _corners(region, edge) if summarized else _copied(region)
    if array is None or (not region.storage.device.host_visible and is_in_flight(region)):
        return None
    if region.dtype.is_float and array.dtype.isbuiltin != 1 and region.dtype is not f4e2m1fnx2:
        array = array.astype(np.float32)  # NumPy knows how to write these
    threshold = 0 if summarized else array.size + 1
    return np.array2string(array, separator=", ", prefix=" " * indent, threshold=threshold)


def _corners(region: Region, edge: int) -> np.ndarray[Any, Any] | None:
    """Return the first and last items of each axis, one more than NumPy shows of a long one."""
    parts = [
        [slice(0, edge + 1), slice(n - edge, n)] if n > 2 * edge + 1 else [slice(0, n)]
        for n in region.shape
    ]
    if not region.storage.device.host_visible and size([len(p) for p in parts]) > MOST_COPIED:
        return None
    blocks = np.empty([len(p) for p in parts], object)
    for at in product(*[range(len(p)) for p in parts]):
        key = tuple(p[i] for p, i in zip(parts, at, strict=True))
        copied = _copied(selected(region, key))
        if copied is None:
            return None
        blocks[at] = copied
    found: np.ndarray[Any, Any] = np.block(blocks.tolist())
    return found


def _copied(region: Region) -> np.ndarray[Any, Any] | None:
    if 0 in region.shape:
        return np.empty(region.shape)
    if region.storage.device.host_visible:
        return region.array().copy()
    if RECORDERS or THREAD.names:
        return None  # a capture may not be disturbed
    try:
        return peeked(region)
    except Error:
        return None  # reading the tensor raises it
