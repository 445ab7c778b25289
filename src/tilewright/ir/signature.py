"""Signatures: the static facts about arguments that one specialization is compiled for.

Sections: the identity of compile-time constants, and the specification of each parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from math import copysign
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from ..base.dtypes import AnyDType
from ..base.shapes import Shape
from ..base.trees import is_tuple

# -------------------------------------------------------------------------------------------------
# Identity of constants: True, 1 and 1.0 are equal in Python but compile to different code.

WHOLLY_VALUES = frozenset({int, bool, str})
"""Types of most constants, which are nothing besides their values."""


def constant_kind(constant: object) -> object:
    """Return the kind of a constant, besides its value: its type, its sign, and those of its parts.

    >>> constant_kind((1, 0.0)) == constant_kind((1, -0.0)), constant_kind(2) == constant_kind(3)
    (False, True)
    """
    kind = type(constant)
    if kind in WHOLLY_VALUES:
        return kind
    if _is_scalar(constant):
        return type(constant), constant.tobytes()
    if isinstance(constant, float):
        return type(constant), copysign(1.0, constant)
    if is_tuple(constant):
        return type(constant), *map(constant_kind, constant)
    if is_dataclass(constant) and not isinstance(constant, type):
        parts = [constant_kind(getattr(constant, f.name)) for f in fields(constant)]
        return type(constant), *parts
    return type(constant)


def _is_scalar(value: object) -> TypeGuard[np.generic[object]]:
    return isinstance(value, np.generic)


# -------------------------------------------------------------------------------------------------
# Parameter specifications and the signature.


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Facts about a tensor's memory that code may rely on beyond its type; none by default.

    `alignment` divides the address (in bytes), `extents` and `strides` hold a power of two that
    divides each (in elements). `narrow` says that all of them fit in 31 bits, `near` that so does
    the distance of any element from the first one.
    """

    alignment: int = 1
    extents: Shape = ()
    strides: Shape = ()
    narrow: bool = False
    near: bool = False

    def __str__(self) -> str:
        size = "31-bit offsets" if self.near else "31-bit" if self.narrow else "64-bit"
        return f"(aligned {self.alignment}, extents {self.extents}, strides {self.strides}, {size})"


NOTHING_KNOWN = MemoryFacts()


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A read-only tensor: extents and strides are None where only the launch knows them."""

    name: str
    dtype: AnyDType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    facts: MemoryFacts = NOTHING_KNOWN


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A partitioned output; `tile` is the region each block owns.

    With `groups` it is mapped: a block visits many tiles, in groups of that shape, 0 along an axis
    of which it has the whole (see base.tile_order). A `partial` one may have more tiles than there
    are blocks. A `shared` one belongs to no block: all add to it, and it says nothing of the grid.
    """

    name: str
    dtype: AnyDType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    tile: Shape
    facts: MemoryFacts = NOTHING_KNOWN
    groups: Shape | None = None
    partial: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A scalar given at each launch."""

    name: str
    dtype: AnyDType


@dataclass(frozen=True, slots=True)
class PointerSpec:
    """A raw pointer (unsafe entries only)."""

    name: str
    dtype: AnyDType


@dataclass(frozen=True, slots=True)
class GlobalSpec(PointerSpec):
    """The address of a device global: a hidden parameter, which launches fill in themselves.

    `memory` is the run half's own object, which knows the address on each device.
    """

    shape: Shape
    memory: object


ParamSpec: TypeAlias = TensorSpec | OutputSpec | ScalarSpec | PointerSpec


@dataclass(frozen=True, slots=True)
class Signature:
    """All facts about the arguments that the compiled code depends on.

    `grid` is the static launch grid, where given (`const_grid`); `grid_rank` the number of
    logical grid axes (at least 3). `constants` are the keyword-only `tl.Const` values. The last
    `hidden` parameters are globals that the kernel names; a launch asks for none, the front end
    adds them. `folded` says that the device runs the blocks of the grid as one row, for it has
    not as many axes, or not as long ones; `tall` that it has, but not with the axes in reverse, or
    None where others launch the kernel. `block` is the shape of a block of threads of a SIMT
    kernel, with as many axes as its launches have; tile kernels have none. `exact_block` says that
    the kernel runs in no other. `shared_bytes` is the room that a launch asks for in the memory of
    each block, beside the arrays of the kernel.
    """

    params: tuple[ParamSpec, ...]
    constants: tuple[tuple[str, Any], ...] = ()
    grid: Shape | None = None
    grid_rank: int = 3
    hidden: int = 0
    folded: bool = False
    tall: bool | None = None
    block: Shape | None = None
    exact_block: bool = False
    shared_bytes: int = 0

    @property
    def globals(self) -> tuple[GlobalSpec, ...]:
        """The hidden parameters, in order."""
        last = self.params[len(self.params) - self.hidden :]
        return tuple(spec for spec in last if isinstance(spec, GlobalSpec))

    @property
    def block_dims(self) -> Shape:
        """The threads of a block along x, y and z, of a SIMT kernel."""
        assert self.block is not None, "only SIMT kernels have threads"
        return self.block + (1,) * (3 - len(self.block))
