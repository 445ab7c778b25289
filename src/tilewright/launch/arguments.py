"""What a launch knows of one argument, and what the kernel needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ..array.borrow import Ticket
from ..array.partition import Partition
from ..array.pointer import DevicePointer
from ..array.region import Region
from ..array.tensor import Tensor
from ..base.dtypes import AnyDType
from ..base.shapes import Shape
from ..frontend.parameters import Parameter


@dataclass(slots=True, eq=False)
class TensorArg:
    """Memory a kernel reads. `handle` is None for foreign arrays, which nobody can move."""

    parameter: Parameter
    region: Region
    handle: Tensor[Any] | None
    ticket: Ticket | None = None

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.region.dtype


@dataclass(slots=True, eq=False)
class OutputArg:
    """Memory a kernel writes, tile by tile."""

    parameter: Parameter
    region: Region
    partition: Partition[Any]
    ticket: Ticket | None = None

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.region.dtype

    @property
    def tile(self) -> Shape:
        """The shape of one block's region."""
        return self.partition.tile


@dataclass(slots=True, eq=False)
class ScalarArg:
    """A number, handed over by value; `value` is the given one as a checked Python number."""

    parameter: Parameter
    given: Any
    value: Any = None


@dataclass(slots=True, eq=False)
class PointerArg:
    """A raw address."""

    parameter: Parameter
    pointer: DevicePointer[Any]

    @property
    def dtype(self) -> AnyDType:
        """The element type pointed to."""
        return self.pointer.dtype


Arg: TypeAlias = TensorArg | OutputArg | ScalarArg | PointerArg


def described(arg: TensorArg | OutputArg) -> str:
    """The tensor in words, for messages about borrows."""
    if isinstance(arg, OutputArg):
        return repr(arg.partition.tensor)
    if arg.handle is not None:
        return repr(arg.handle)
    return f"a NumPy array of shape {arg.region.shape}"
