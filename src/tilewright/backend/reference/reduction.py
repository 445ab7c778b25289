"""Reductions and scans: adjacent elements are combined in pairs, which preserves their order.

If the body has elementwise ops only, it runs on arrays in place of its scalars.
"""

from __future__ import annotations

import numpy as np

from ...ir.core import Block, Op
from ...ir.opdef import Trait
from ...ir.ops import control, layout
from ...ir.types import TileType
from .floating import Array
from .machine import Frame, Results, Rule, filled

UNIFORM = (*layout.CREATION_OPS, *control.GRID_OPS, control.YIELD)
"""Ops of a body, besides elementwise ones, that are the same for scalars and arrays."""


def _vectorizes(body: Block) -> bool:
    """Return whether the body may run on arrays in place of scalars."""
    return all(
        (op.has(Trait.ELEMENTWISE) or op.is_a(*UNIFORM)) and all(map(_is_scalar, _types(op)))
        for op in body.ops
    )


def _types(op: Op) -> list[TileType]:
    return [v.tile for v in (*op.operands, *op.results)]


def _is_scalar(kind: TileType) -> bool:
    return kind.rank == 0


def _combine(frame: Frame, body: Block, elems: list[Array], accs: list[Array]) -> list[Array]:
    """Run the body on slices: later elements along the axis with earlier ones."""
    if _vectorizes(body):
        return [np.broadcast_to(r, elems[0].shape) for r in _apply(frame, body, elems, accs)]
    combined = [np.empty_like(a) for a in elems]
    for i in np.ndindex(elems[0].shape):
        results = _apply(frame, body, [e[i] for e in elems], [a[i] for a in accs])
        for whole, one in zip(combined, results, strict=True):
            whole[i] = one
    return combined


def _apply(frame: Frame, body: Block, elems: list[Array], accs: list[Array]) -> list[Array]:
    pairs = [x for pair in zip(elems, accs, strict=True) for x in pair]
    frame.bind(body.args, pairs)
    frame.run(body)
    return [frame.array(v) for v in body.terminator.operands]


def _inputs(frame: Frame, op: Op) -> list[Array]:
    """Return the inputs with the axis in front."""
    return [np.moveaxis(a, op.attrs["axis"], 0) for a in frame.arrays(op)]


def _reduce(frame: Frame, op: Op) -> Results:
    (body,) = op.regions
    values = _inputs(frame, op)
    if len(values[0]) == 0:
        identities = zip(op.results, op.attrs["identities"], strict=True)
        return tuple(filled(v.tile.dtype, v.tile.shape, x) for v, x in identities)
    while (n := len(values[0])) > 1:
        even = n - n % 2
        paired = _combine(frame, body, [v[1:even:2] for v in values], [v[0:even:2] for v in values])
        pairs = zip(paired, values, strict=True)
        values = [np.concatenate([p, v[even:]]) for p, v in pairs]
    return tuple(v[0] for v in values)


def _scan(frame: Frame, op: Op) -> Results:
    (body,) = op.regions
    values = _inputs(frame, op)
    step = slice(None, None, -1 if op.attrs["reverse"] else 1)
    values = [v[step] for v in values]
    distance = 1
    while distance < len(values[0]):
        later, before = [v[distance:] for v in values], [v[:-distance] for v in values]
        combined = _combine(frame, body, later, before)
        pairs = zip(values, combined, strict=True)
        values = [np.concatenate([v[:distance], c]) for v, c in pairs]
        distance *= 2
    return tuple(np.moveaxis(v[step], 0, op.attrs["axis"]) for v in values)


RULES: dict[str, Rule] = {"reduce": _reduce, "scan": _scan}
