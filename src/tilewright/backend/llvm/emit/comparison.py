"""Comparisons, by the signedness of integers and with a chosen answer for NaN, and selection."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.attrs import Predicate
from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import where
from .emitter import Compute, Emitter
from .floats import NARROW, wide_type


def _cmpi(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = args
    predicate = Predicate(op.attrs["predicate"])
    sign = "s" if op.operands[0].tile.dtype.is_signed else "u"
    word = predicate if predicate in (Predicate.EQ, Predicate.NE) else sign + predicate
    return a.compare("", word, b)


def _cmpf(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    dtype = op.operands[0].tile.dtype
    a, b = args
    if dtype in NARROW:
        a, b = (emitter.convert(x, dtype, wide_type(dtype)) for x in args)
    word = ("u" if op.attrs["unordered"] else "o") + Predicate(op.attrs["predicate"])
    return a.compare(word, "", b)


def _select(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    cond, a, b = args
    return where(cond, a, b)


TABLE: dict[str, Compute] = {"cmpi": _cmpi, "cmpf": _cmpf, "select": _select}
