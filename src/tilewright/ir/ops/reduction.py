"""Reductions and scans. The body combines (element, accumulator) pairs, one per input."""

from __future__ import annotations

from collections.abc import Sequence

from ..opdef import Attrs, declare, need, number
from ..types import Type


def _check(types: Sequence[Type], attrs: Attrs) -> None:
    first = number(types[0])
    need(0 <= attrs["axis"] < first.rank, "{} has no axis {}", first, attrs["axis"])
    need(all(number(t).shape == first.shape for t in types), "inputs differ in shape")
    need(len(attrs["identities"]) == len(types), "one identity per input")


def _reduce(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _check(types, attrs)
    axis = attrs["axis"]
    return tuple(
        number(t).with_shape((*number(t).shape[:axis], *number(t).shape[axis + 1 :])) for t in types
    )


def _scan(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _check(types, attrs)
    return tuple(types)


REDUCE = declare(
    "reduce",
    "tile",
    "inputs*",
    _reduce,
    "Combines along `axis`, which goes away; block args (elem0, acc0, elem1, acc1, ...),"
    " yields the new accumulators. Order is unspecified.",
    attrs={"axis": 0, "identities": ()},
    regions=1,
)
SCAN = declare(
    "scan",
    "tile",
    "inputs*",
    _scan,
    "Running combination along `axis`, inclusive; body as in reduce.",
    attrs={"axis": 0, "reverse": False, "identities": ()},
    regions=1,
)

OPS = (REDUCE, SCAN)
