"""Pictures of streams and devices for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..base.showing import table

if TYPE_CHECKING:
    from .protocol import Device, Stream


class ShownStream:
    """Mixin of streams."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        stream = cast("Stream", self)
        rows = [("device", stream.device.name), ("number", stream.number)]
        return table("Stream", [*rows, ("order", "work runs in the order it was put here")])


class ShownDevice:
    """Mixin of devices."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        device = cast("Device", self)
        rows: list[tuple[str, object]] = [
            ("name", device.name),
            ("memory", "the host's" if device.host_visible else "its own"),
        ]
        pool: Any = getattr(device, "pool", None) if device.host_visible else None
        if pool is not None:
            stats = pool.stats()
            rows += [("in use", f"{stats.used:,} bytes"), ("reserved", f"{stats.reserved:,} bytes")]
        return table("Device", rows)
