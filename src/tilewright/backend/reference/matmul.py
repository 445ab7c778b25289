"""Matrix multiply-accumulate: products and sums in f64, rounded once to the accumulator."""

from __future__ import annotations

import numpy as np

from ...base.dtypes import AnyDType
from ...ir.core import Op
from . import floating
from .floating import Array
from .machine import Frame, Results, Rule


def _wide(frame: Frame, op: Op, name: str) -> Array:
    return frame.array(op.one(name)).astype(np.float64)


def _accumulated(frame: Frame, op: Op, lhs: Array, rhs: Array) -> Results:
    dtype: AnyDType = op.result.tile.dtype
    return (floating.narrow(_wide(frame, op, "acc") + lhs @ rhs, dtype),)


def _mmaf(frame: Frame, op: Op) -> Results:
    return _accumulated(frame, op, _wide(frame, op, "lhs"), _wide(frame, op, "rhs"))


def _mmai(frame: Frame, op: Op) -> Results:
    # Sums of 8-bit products stay below 2**53 for any tile, so f64 holds them exactly.
    product = (_wide(frame, op, "lhs") @ _wide(frame, op, "rhs")).astype(np.int64)
    acc = frame.array(op.one("acc")).astype(np.int64)
    return ((acc + product).astype(np.int32),)


def _mmaf_scaled(frame: Frame, op: Op) -> Results:
    lhs, rhs = _wide(frame, op, "lhs"), _wide(frame, op, "rhs")
    lhs_scale, rhs_scale = _wide(frame, op, "lhs_scale"), _wide(frame, op, "rhs_scale")
    run = lhs.shape[-1] // lhs_scale.shape[-1]
    scaled_lhs = lhs * np.repeat(lhs_scale, run, axis=-1)
    scaled_rhs = rhs * np.repeat(rhs_scale, run, axis=-2)
    return _accumulated(frame, op, scaled_lhs, scaled_rhs)


RULES: dict[str, Rule] = {"mmaf": _mmaf, "mmai": _mmai, "mmaf_scaled": _mmaf_scaled}
