"""Annotations of kernel parameters besides tensors and element types."""

from __future__ import annotations

from typing import Annotated, Generic

from typing_extensions import TypeVar

from .pointer import PointerTile
from .tile import E_co

Kind = TypeVar("Kind")


class Dyn:
    """An extent that each launch may choose: `tl.Tensor[f32, tl.Dyn, tl.Dyn]`."""


class _Constant:
    """Marks a parameter as a constant of the compilation."""

    def __repr__(self) -> str:
        return "tl.Const"


CONST = _Constant()
"""What `tl.Const[int]` has in its metadata."""

Const = Annotated[Kind, CONST]
"""A constant of the compilation, keyword-only: `def gemm(z, x, y, *, BK: tl.Const[int])`."""


class Ptr(PointerTile[E_co], Generic[E_co]):
    """A raw pointer to elements of type E, a parameter of unsafe entries only."""
