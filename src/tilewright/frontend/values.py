"""What a name in a kernel can stand for while it is compiled.

A dynamic tile or scalar is an `ir.Value`; a Python object that is not one of the classes below is
static: an int, a float, a tuple, an element type, a function, known while compiling.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..base.shapes import Shape
from ..ir import TensorType, Value
from ..lang.device_global import Global


@dataclass(frozen=True, eq=False, slots=True)
class TensorRef:
    """A read-only tensor (`tl.Tensor`), or one made from a raw pointer."""

    value: Value
    name: str

    @property
    def type(self) -> TensorType:
        """The tensor's type."""
        return self.value.tensor


@dataclass(frozen=True, eq=False, slots=True)
class OutputRef:
    """A block's own region of an output (`tl.TensorMut`); `tile` is its static shape."""

    value: Value
    name: str
    tile: Shape

    @property
    def type(self) -> TensorType:
        """The whole output's type."""
        return self.value.tensor


@dataclass(frozen=True, eq=False, slots=True)
class PartitionRef:
    """A tensor cut into tiles, made in the kernel; `view` has a ViewType.

    `mutable` marks `PartitionMut`: a block's own region cut further.
    """

    view: Value
    name: str
    mutable: bool = False


Memory = TensorRef | OutputRef | PartitionRef | Global
"""Things that name memory: no values, so they can be neither computed with nor selected."""


@dataclass(frozen=True, eq=False, slots=True)
class FormatString:
    """An f-string with parts of the kernel: texts, and (value, format specification) pairs."""

    parts: tuple[str | tuple[Value | Memory, str], ...]
