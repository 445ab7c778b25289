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


ParamSpec: TypeAlias = TensorSpec | OutputSpec | ScalarSpec | PointerSpec


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything about the arguments that the compiled code depends on.

    `grid` is the static launch grid, where given (`const_grid`); `grid_rank` the number of
    logical grid axes (at least 3). `constants` are the keyword-only `tl.Const` values.
    """

    params: tuple[ParamSpec, ...]
    constants: tuple[tuple[str, Any], ...] = ()
    grid: Shape | None = None
    grid_rank: int = 3
