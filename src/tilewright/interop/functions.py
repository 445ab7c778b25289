"""Functions that a driver has loaded, with a declaration, as kernels that are called with tensors.

Shared by all whose code is there before it is called: modules of CUDA C++ and PTX, CuPy's kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from ..base.dtypes import AnyDType
from ..base.errors import LaunchError
from ..base.shapes import Shape, ceil_div, size
from ..devices.protocol import Device, Function, LaunchConfig
from ..launch.foreign_calls import Call, MemoryGiven, Ready, Typed
from ..tensors.shape import ShapeLike, as_shape

Grid: TypeAlias = "ShapeLike | Callable[[Mapping[str, Any]], ShapeLike]"
"""How many blocks run: so many, or as many as a function of the arguments by name says. It is given
numbers, constants, and for tensors something with a `shape`."""
Find: TypeAlias = Callable[[Device], Function]
"""The function on a device."""


class Functions:
    """Launches a function as its declaration says: an address or a number for each parameter."""

    def __init__(self, find: Find, grid: Grid | None, block: ShapeLike, shared: int) -> None:
        self._find, self._grid, self._shared = find, grid, shared
        self._block = as_shape(block, "the block", least=1)

    def number_type(self, value: Any) -> AnyDType:
        """Raise: declarations have types."""
        raise AssertionError("a declared number has a type")

    def traits(self, numbers: Sequence[Typed]) -> Hashable:
        """Return nothing: the code is the same for all numbers."""
        return None

    @property
    def asks_numbers(self) -> bool:
        """The code does not depend on numbers; a grid may."""
        return self.counts

    def is_loaded(self, call: Call) -> bool:
        """Return True."""
        return True

    @property
    def counts(self) -> bool:
        """Whether the grid may differ with the numbers of a launch."""
        return callable(self._grid)

    def grid(self, call: Call) -> Shape:
        """Return the number of blocks."""
        asked = call.asked
        return asked.grid or grid_of(call, self._grid, asked.block or self._block)

    def ready(self, call: Call, grid: Shape) -> Ready:
        """Return the launch of the function on the device where the memory is."""
        function, asked = self._find(call.device), call.asked
        refuse_unlike(call, function)
        shared = asked.shared_mem_bytes or self._shared
        config = LaunchConfig(grid, asked.block or self._block, shared)
        return Ready(function, config, [given.word for given in call.given.values()])


def grid_of(call: Call, grid: Grid | None, block: Shape) -> Shape:
    """Return the number of blocks; by default one thread for each element of the longest output."""
    if callable(grid):
        return as_shape(grid(named(call)), "the grid")
    if grid is not None:
        return as_shape(grid, "the grid")
    memory = [given for given in call.given.values() if isinstance(given, MemoryGiven)]
    sizes = [size(given.shape) for given in memory if given.written]
    if not sizes:
        raise LaunchError(
            f"the outputs of `{call.kernel}` do not define a grid",
            expected="a grid, since it writes no tensor",
            got="none",
            hint="pass `grid=...` where it is wrapped, or .launch_config(grid=...)",
        )
    return (ceil_div(max(sizes), size(block)),)


def named(call: Call) -> dict[str, Any]:
    """Return the arguments by name, as functions of users see them."""
    values = {
        name: given if isinstance(given, MemoryGiven) else given.value
        for name, given in call.given.items()
    }
    return {**values, **call.constants}


def refuse_unlike(call: Call, function: Function) -> None:
    """Raise if the function, where that is known, takes other parameters than are declared."""
    sizes = function.parameter_sizes
    if sizes is None:
        return
    if len(sizes) != len(call.given):
        raise LaunchError(
            f"`{call.kernel}` is declared with other parameters than `{function.name}` has",
            expected=f"{len(sizes)} parameters",
            got=f"{len(call.given)}: {', '.join(call.given)}",
        )
    for (name, given), nbytes in zip(call.given.items(), sizes, strict=True):
        declared = 8 if isinstance(given, MemoryGiven) else given.dtype.itemsize
        if declared != nbytes:
            what = "an address" if isinstance(given, MemoryGiven) else given.dtype.name
            raise LaunchError(
                f"`{name}` of `{call.kernel}` is declared with another size than it has in"
                f" `{function.name}`",
                expected=f"{nbytes} bytes",
                got=f"{what}, {declared} bytes",
            )
