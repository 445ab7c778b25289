"""What makers of foreign code see of a launch, and what they give for it.

Code is made for launches alike: their tensors have the same layouts, their numbers the same traits,
their grids the same blocks. So what a maker gives says where addresses and numbers go, not what
they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..base.cuda_abi import POINTER_ALIGNMENT
from ..base.dtypes import AnyDType
from ..base.shapes import Shape
from ..devices.protocol import Device, Function, LaunchConfig
from ..tensors.layout import Layout
from .blocks import Asked


class Typed(NamedTuple):
    """A number of a launch, and its type."""

    dtype: AnyDType
    value: Any


class Address(NamedTuple):
    """The word of a launch that is an address: that of its memory of this number."""

    place: int


class Number(NamedTuple):
    """The word of a launch that is the number of this place, with the bits of a type."""

    place: int
    dtype: AnyDType


Word: TypeAlias = int | Address | Number
"""A parameter of a launch: always the same, or one that differs."""


class MemoryGiven(NamedTuple):
    """A tensor that a kernel is given."""

    layout: Layout
    aligned: bool
    """Whether it begins at a multiple of 16 bytes."""
    written: bool
    word: Address

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self.layout.shape


class NumberGiven(NamedTuple):
    """A number that a kernel is given."""

    dtype: AnyDType
    value: Any
    word: Number


Given: TypeAlias = MemoryGiven | NumberGiven


class Call(NamedTuple):
    """All that the code of a launch depends on, and over how many blocks it runs."""

    kernel: str
    device: Device
    given: Mapping[str, Given]
    """The arguments by name, in the kernel's order."""
    constants: Mapping[str, Any]
    asked: Asked

    def typed(self, numbers: Sequence[Any]) -> list[Typed]:
        """Return other accepted numbers, with the types of this call where they have none."""
        types = [given.dtype for given in self.given.values() if isinstance(given, NumberGiven)]
        return [
            number if isinstance(number, Typed) else Typed(dtype, number)
            for dtype, number in zip(types, numbers, strict=True)
        ]

    def with_numbers(self, numbers: Sequence[Typed]) -> Call:
        """Return the same with other numbers."""
        given = dict(self.given)
        for name, old in self.given.items():
            if isinstance(old, NumberGiven):
                place = old.word.place
                dtype, value = numbers[place]
                given[name] = NumberGiven(dtype, value, Number(place, dtype))
        return self._replace(given=given)


class Ready(NamedTuple):
    """A launch as a driver takes it, but for what differs between launches alike."""

    function: Function
    config: LaunchConfig
    words: Sequence[Word]
    """One for each parameter of the function."""
    keep: object = None
    """Stays alive until the device has passed the launch, which is the only one of this kind."""


class Maker(Protocol):
    """Knows the code of one kernel: compiles and loads it, and says how it takes arguments."""

    def number_type(self, value: Any) -> AnyDType:
        """Return the type of a number for which the kernel declares none."""
        ...

    def traits(self, numbers: Sequence[Typed]) -> Hashable:
        """Return what the code depends on among the numbers of a launch."""
        ...

    @property
    def asks_numbers(self) -> bool:
        """Whether the code or the grid of a launch may depend on its numbers."""
        ...

    def is_loaded(self, call: Call) -> bool:
        """Return whether the code for a launch is available."""
        ...

    @property
    def counts(self) -> bool:
        """Whether the grid may differ between launches that differ in their numbers alone."""
        ...

    def grid(self, call: Call) -> Shape:
        """Return the number of blocks."""
        ...

    def ready(self, call: Call, grid: Shape) -> Ready:
        """Return a compiled and loaded launch, for all calls with these traits and this grid."""
        ...


def is_aligned(address: int) -> bool:
    """Return whether memory begins where compilers like it to."""
    return address % POINTER_ALIGNMENT == 0
