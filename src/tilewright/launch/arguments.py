"""What a launch knows of its arguments: the kind of each, and all their memory and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from .._core import BEHIND_REGIONS
from ..base.dtypes import AnyDType
from ..base.shapes import Shape
from ..frontend.capture.parameters import Parameter
from ..tensors.arc import Arc
from ..tensors.layout import Layout, Tiling
from ..tensors.ownership import Handle
from ..tensors.partition import Partition
from ..tensors.pointer import DevicePointer
from ..tensors.region import Region
from ..tensors.tensor import BorrowMut, Tensor

if TYPE_CHECKING:
    from ..devices.protocol import Device
    from ..op.place import Location
    from ..tensors.borrow import Ticket
    from .form import Form


@dataclass(frozen=True, slots=True, eq=False)
class TensorArg:
    """A tensor a kernel reads; `home` is None where it can be read from any device."""

    parameter: Parameter
    layout: Layout
    home: Device | None

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.layout.dtype


@dataclass(frozen=True, slots=True, eq=False)
class OutputArg:
    """A tensor a kernel writes, tile by tile."""

    parameter: Parameter
    tiling: Tiling
    home: Device

    @property
    def layout(self) -> Layout:
        """The layout of the whole tensor."""
        return self.tiling.layout

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.tiling.layout.dtype

    @property
    def tile(self) -> Shape:
        """The shape of one block's region, or of one tile of a mapped partition."""
        return self.tiling.tile

    @property
    def shared(self) -> bool:
        """Whether it is an accumulator: all blocks add to it, and none has a separate part."""
        return self.parameter.shared

    @property
    def groups(self) -> Shape | None:
        """The groups in which the tiles of a mapped partition are visited."""
        return None if self.tiling.mapping is None else self.tiling.mapping.groups


@dataclass(frozen=True, slots=True, eq=False)
class ScalarArg:
    """A number, handed over by value."""

    parameter: Parameter


@dataclass(frozen=True, slots=True, eq=False)
class PointerArg:
    """A raw address."""

    parameter: Parameter
    dtype: AnyDType
    home: Device


Arg: TypeAlias = TensorArg | OutputArg | ScalarArg | PointerArg


class Foreign(Handle):
    """An array of another library, seen as a tensor for one launch; it cannot be moved."""

    __slots__ = ("given",)

    rooted = False

    def __init__(self, region: Region, given: object) -> None:
        super().__init__(region, None)
        self.given = given
        """What the caller passed."""

    def __repr__(self) -> str:
        return f"a NumPy array of shape {self.region.shape}"


class ForeignOnGpu(Foreign):
    """An array of another library on a GPU, where the launch must run."""

    __slots__ = ()

    rooted = True

    def __repr__(self) -> str:
        return f"an array of shape {self.region.shape} on {self.region.storage.device.name}"


Held: TypeAlias = "tuple[Any, ...]"
"""The native result for tensors on the fast path, once they are borrowed: their records, which keep
their memory; the use that borrowed them; their row; and the `Known` of their kinds.
"""


class Bound:
    """The arguments of one launch, by kind and in the order of the parameters."""

    __slots__ = (
        "_count", "_given", "device", "form", "held", "location", "memory", "numbers", "outputs",
        "pointers", "reads_own", "shares", "tickets",
    )  # fmt: skip

    form: Form
    """What it has in common with launches alike."""
    device: Device
    location: Location
    """The line that built the launch."""
    tickets: list[Ticket]
    """The exclusive borrow of each output."""
    reads_own: bool
    """Whether all inputs belong to their variables, so that none needs to be settled."""
    shares: Sequence[int | Ticket]
    """The shared borrow of each input: mostly no more than the epoch it was taken in."""
    held: Held | None
    """If all its tensors are plain."""

    def __init__(
        self,
        outputs: Sequence[Partition[Any]],
        inputs: Sequence[Any],
        memory: list[Region],
        written: int,
        pointers: Sequence[DevicePointer[Any]],
        numbers: Sequence[Any],
    ) -> None:
        self.outputs = outputs
        self._given = inputs
        self.memory = memory
        """That of the outputs, then that of the inputs."""
        self._count = written
        self.pointers = pointers
        self.numbers = numbers
        """As given; once the form is known, as Python numbers that fit."""
        self.held = None
        self.reads_own = True

    @property
    def has_former(self) -> bool:
        """Whether somebody may be left who gave an argument away, and has it back on failure."""
        return self.held is None or bool(self.held[-BEHIND_REGIONS])

    @property
    def inputs(self) -> list[Handle]:
        """The tensors that are read."""
        return [value.content if is_arc(value) else value for value in self._given]

    @property
    def written(self) -> list[Region]:
        """The memory of the outputs."""
        return self.memory[: self._count]

    @property
    def read(self) -> list[Region]:
        """That of the inputs."""
        return self.memory[self._count :]

    @property
    def may_write(self) -> list[Region]:
        """The memory that the launch writes, or may write through pointers."""
        written = self.written
        return [*written, *[p.region for p in self.pointers]] if self.pointers else written

    @property
    def used(self) -> list[Region]:
        """All memory in the order in which the core has it: what may be written comes first."""
        return [*self.may_write, *self.read] if self.pointers else self.memory

    @property
    def kind(self) -> tuple[Any, ...]:
        """All that tells it from launches that differ only in memory and numbers."""
        found: list[object] = []
        for partition, region in zip(self.outputs, self.written, strict=True):
            found += (partition.tiling, region.storage.device)
        for tensor, region in zip(self.inputs, self.read, strict=True):
            found += (region.layout, region.storage.device if tensor.rooted else None)
        for pointer in self.pointers:
            found += (pointer.dtype, pointer.region.storage.device)
        return tuple(found)


def is_tensor(x: object) -> TypeGuard[Tensor[Any]]:
    """Return whether x is one of our tensors."""
    return isinstance(x, Tensor)


def is_arc(x: object) -> TypeGuard[Arc[Any]]:
    """Return whether x is a shared tensor."""
    return isinstance(x, Arc)


def is_partition(x: object) -> TypeGuard[Partition[Any]]:
    """Return whether x is a partition."""
    return isinstance(x, Partition)


def is_borrow(x: object) -> TypeGuard[BorrowMut[Any]]:
    """Return whether x is an exclusive borrow."""
    return isinstance(x, BorrowMut)


def is_pointer(x: object) -> TypeGuard[DevicePointer[Any]]:
    """Return whether x is a raw pointer."""
    return isinstance(x, DevicePointer)


def kind_of(x: object) -> type:
    """Return the class of x."""
    return type(x)


def is_shape(x: object) -> TypeGuard[Sequence[int]]:
    """Return whether x can be a shape."""
    return isinstance(x, tuple | list)
