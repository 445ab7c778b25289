"""The LLVM types of elements, in registers and in memory, and constants of them."""

from __future__ import annotations

import numpy as np

from ....base.dtypes import AnyDType, bool_, f4e2m1fnx2, f8e8m0fnu
from ....ir.types import Elem, PtrType
from ..functions.conversion import ELEMENT
from ..functions.text import Body
from ..functions.text import Value as Vec

REGISTER = ELEMENT | {f4e2m1fnx2.name: "i8"}
"""Small floats are their bits; bool is i1."""
REAL = ("float", "double")


def register_type(elem: Elem) -> str:
    """How one element is held in a register; pointers are addresses."""
    return "i64" if isinstance(elem, PtrType) else REGISTER[elem.name]


def memory_type(elem: Elem) -> str:
    """How one element is held in memory: a bool takes a byte."""
    return "i8" if elem is bool_ else register_type(elem)


def literal(body: Body, elem: Elem, value: float, lanes: int) -> Vec:
    """A constant in every lane."""
    kind = register_type(elem)
    if kind in REAL or isinstance(elem, PtrType):
        return body.constant(kind, lanes, value)
    return body.constant(kind, lanes, bits_of(elem, value))


def bits_of(dtype: AnyDType, value: float) -> int:
    """The bits of a number of an integer, bool or small float type, read as a signed integer."""
    if dtype is f8e8m0fnu and value == 0:
        return 0  # it has no zero: its least value stands for it
    if dtype.is_float:
        return int(np.asarray(value, np.float64).astype(dtype.np).view(f"u{dtype.itemsize}"))
    if dtype is bool_:
        return int(bool(value))
    width = dtype.bits
    bits = int(value) & ((1 << width) - 1)
    return bits - (1 << width) if bits >> (width - 1) else bits
