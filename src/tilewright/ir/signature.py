"""What one specialization of a kernel is compiled for: the static facts about its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ..base.dtypes import AnyDType
from ..base.shapes import Shape


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A read-only tensor: extents and strides are None where only the launch knows them."""

    name: str
    dtype: AnyDType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A partitioned output; `tile` is the region each block owns."""

    name: str
    dtype: AnyDType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    tile: Shape


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
    """Everything about the arguments that the compiled code depends on.

    `grid` is the static launch grid, where given (`const_grid`); `grid_rank` the number of
    logical grid axes (at least 3). `constants` are the keyword-only `tl.Const` values. The last
    `hidden` parameters are globals that the kernel names; a launch asks for none, the front end
    adds them.
    """

    params: tuple[ParamSpec, ...]
    constants: tuple[tuple[str, Any], ...] = ()
    grid: Shape | None = None
    grid_rank: int = 3
    hidden: int = 0

    @property
    def globals(self) -> tuple[GlobalSpec, ...]:
        """The hidden parameters, in order."""
        last = self.params[len(self.params) - self.hidden :]
        return tuple(spec for spec in last if isinstance(spec, GlobalSpec))
