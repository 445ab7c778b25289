"""Tiles from nothing."""

from __future__ import annotations

import numpy as np

from ...ir.core import Op
from .machine import Frame, Results, Rule, filled


def _constant(frame: Frame, op: Op) -> Results:
    return (filled(op.attrs["dtype"], op.attrs["shape"], op.attrs["value"]),)


def _iota(frame: Frame, op: Op) -> Results:
    return (np.arange(op.attrs["size"], dtype=np.int64).astype(op.attrs["dtype"].np),)


RULES: dict[str, Rule] = {"constant": _constant, "iota": _iota}
