"""A mesh: devices in a grid with named axes, over which tensors are divided or repeated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ..base.errors import ContextError, ShapeError
from ..base.showing import grid
from .protocol import Device
from .registry import get_device

DEVICES = "devices"
"""The axis of a mesh that was made without axes."""


class Mesh:
    """Devices at the positions of a grid, in row-major order; a device may have several.

    `axes` maps the name of each axis to its extent; without it there is one, `devices`.

    >>> Mesh(["cpu", "cpu"], {"data": 2})
    Mesh(data=2: cpu, cpu)
    """

    __slots__ = ("axes", "devices")

    def __init__(
        self, devices: Sequence[Device | str], axes: Mapping[str, int] | None = None
    ) -> None:
        self.devices = tuple([get_device(d) if isinstance(d, str) else d for d in devices])
        self.axes = dict(axes) if axes is not None else {DEVICES: len(self.devices)}
        _check(self.devices, self.axes)

    @property
    def size(self) -> int:
        """How many positions there are."""
        return len(self.devices)

    def positions(self) -> Iterator[dict[str, int]]:
        """Yield the positions in order: a coordinate for each axis."""
        for number in range(self.size):
            yield self.position(number)

    def position(self, number: int) -> dict[str, int]:
        """Return the coordinates of a position by its number."""
        found: dict[str, int] = {}
        for name, extent in reversed(self.axes.items()):
            number, found[name] = divmod(number, extent)
        return dict(reversed(found.items()))

    def extent(self, axis: str) -> int:
        """Return how many positions an axis has; raise if there is no such axis."""
        if axis not in self.axes:
            raise ShapeError(
                f"the mesh has no axis {axis!r}",
                expected=" or ".join(map(repr, self.axes)),
                got=repr(axis),
            )
        return self.axes[axis]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh):
            return NotImplemented
        return self.devices == other.devices and self.axes == other.axes

    def __hash__(self) -> int:
        return hash((self.devices, tuple(self.axes.items())))

    def __repr__(self) -> str:
        axes = ", ".join([f"{name}={extent}" for name, extent in self.axes.items()])
        return f"Mesh({axes}: {', '.join([device.name for device in self.devices])})"

    def _repr_html_(self) -> str:
        rows = [
            (*position.values(), device.name)
            for position, device in zip(self.positions(), self.devices, strict=True)
        ]
        return grid(f"Mesh of {self.size}", [*self.axes, "device"], rows)


def _check(devices: Sequence[Device], axes: Mapping[str, int]) -> None:
    """Raise for axes that do not have one position for each device."""
    if not devices or any(extent < 1 for extent in axes.values()):
        raise ShapeError(
            "a mesh has one device or more, and axes of one position or more",
            got=f"{len(devices)} devices, axes {dict(axes)}",
        )
    needed = math.prod(axes.values())
    if needed > len(devices):
        raise ContextError(
            "the mesh is larger than the devices",
            expected=f"{needed} devices for the axes {dict(axes)}",
            got=f"{len(devices)}: {', '.join([device.name for device in devices])}",
            hint="name a device more than once to put several positions on it; on the CPU,"
            " TILEWRIGHT_CPU_DEVICES=4 makes `cpu:1` to `cpu:3`",
        )
    if needed < len(devices):
        raise ContextError(
            "the mesh is smaller than the devices",
            expected=f"{needed} devices for the axes {dict(axes)}",
            got=f"{len(devices)}: {', '.join([device.name for device in devices])}",
            hint=f"pass devices[:{needed}]",
        )
