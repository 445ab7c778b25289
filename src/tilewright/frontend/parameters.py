"""What a kernel's signature says about each parameter, read from its annotations."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..base.dtypes import AnyDType

Kind: TypeAlias = Literal["output", "tensor", "scalar", "pointer", "const", "absent"]
"""What a parameter takes; an optional one that is given None is absent."""
Dim: TypeAlias = "int | str | tuple[str, str] | None"
"""A fixed extent, the name of a TypeVar, None for any, or ("*", name) for a TypeVarTuple."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `dtype` may be a TypeVar's name, or None for any; so may `dims`."""

    name: str
    kind: Kind
    dtype: AnyDType | str | None = None
    dims: tuple[Dim, ...] | None = None
    default: Any = inspect.Parameter.empty
    line: int = 0
    mapped: bool = False
    """Whether an output is a mapped one, of which a block visits many tiles."""
    of: type | None = None
    """The class that a constant's values have, where its annotation says one: tl.Const[int]."""
    nameless: bool = False
    """Whether it is given by position alone, as a `/` in the parameter list says."""
    optional: bool = False
    """Whether it may be given None: `tl.Tensor[f32] | None`."""
    shared: bool = False
    """Whether an output is an accumulator, which all blocks add to."""
    variadic: bool = False
    """Whether it stands for all further arguments: `*xs: tl.Tensor`."""


def item_name(name: str, index: int) -> str:
    """The name of one of the arguments that a variadic parameter stands for."""
    return f"{name}_{index}"
