"""Creation of tiles, and rearrangement of their elements."""

from __future__ import annotations

import numpy as np

from ...ir.core import Op
from .machine import Frame, Results, Rule, filled

# -------------------------------------------------------------------------------------------------
# Creation: constants, ranges, broadcasts.


def _constant(frame: Frame, op: Op) -> Results:
    return (filled(op.attrs["dtype"], op.attrs["shape"], op.attrs["value"]),)


def _iota(frame: Frame, op: Op) -> Results:
    return (np.arange(op.attrs["size"], dtype=np.int64).astype(op.attrs["dtype"].np),)


# -------------------------------------------------------------------------------------------------
# Rearrangement: the elements stay the same, their arrangement changes.


def _reshape(frame: Frame, op: Op) -> Results:
    return (frame.array(op.one("arg")).reshape(op.attrs["shape"]),)


def _broadcast(frame: Frame, op: Op) -> Results:
    return (np.broadcast_to(frame.array(op.one("arg")), op.attrs["shape"]),)


def _permute(frame: Frame, op: Op) -> Results:
    return (frame.array(op.one("arg")).transpose(op.attrs["order"]),)


def _cat(frame: Frame, op: Op) -> Results:
    return (np.concatenate(frame.arrays(op), axis=op.attrs["axis"]),)


def _extract(frame: Frame, op: Op) -> Results:
    arg, shape = frame.array(op.one("arg")), op.attrs["shape"]
    where: list[slice] = []
    for n, part, index in zip(arg.shape, shape, op.all("index"), strict=True):
        start = frame.integer(index) % (n // part) * part
        where.append(slice(start, start + part))
    return (arg[tuple(where)],)


RULES: dict[str, Rule] = {
    "constant": _constant,
    "iota": _iota,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "permute": _permute,
    "cat": _cat,
    "extract": _extract,
}
