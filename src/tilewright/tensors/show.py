"""Pictures of tensors for notebooks: their properties and their state. Never raises."""

from __future__ import annotations

from collections.abc import Iterable

from ..op.place import place_of
from .order import is_in_flight
from .ownership import Handle


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Format a small table with one fact per row; all text is escaped."""
    from html import escape

    cells = "".join(
        f"<tr><th>{escape(name)}</th><td><code>{escape(str(fact))}</code></td></tr>"
        for name, fact in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


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
