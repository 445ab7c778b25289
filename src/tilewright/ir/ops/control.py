"""Structured control flow. Regions have one block each; values pass through terminators."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_
from ..opdef import Effect, declare
from ..types import TensorType, Type, ViewType
from .rules import Attrs, need, none, number, scalar


def _carried(types: Sequence[Type]) -> tuple[Type, ...]:
    for t in types:
        need(not isinstance(t, TensorType | ViewType), f"{t} cannot be carried")
    return tuple(types)


def _for(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    low = number(types[0])
    need(low.rank == 0 and low.dtype.is_int, f"bounds must be scalar integers, got {low}")
    need(types[1] == low and types[2] == low, "bounds and step must have one type")
    return _carried(types[3:])


def _loop(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return _carried(types)


def _if(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], bool_)
    return _carried(attrs["types"])


def _scope(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return _carried(attrs["types"])


FLOW = Effect.CONTROL

OPS = (
    declare("for", "core", "lower upper step init*", _for,
            "Runs its region for iv = lower, lower + step, ... < upper (step > 0; signed for signed"
            " types); block args (iv, carried...); results are the carried values at the end.",
            effects=FLOW, regions=1),
    declare("loop", "core", "init*", _loop,
            "Runs its region until a break; block args are the carried values; results are the"
            " values of the break.", effects=FLOW, regions=1),
    declare("if", "core", "cond", _if,
            "Runs the first region if cond, else the second; results are what it yields.",
            attrs={"types": ()}, effects=FLOW, regions=2),
    declare("scope", "core", "", _scope,
            "Runs its region once, until a leave; results are the values of the leave.",
            attrs={"types": ()}, effects=FLOW, regions=1),
    declare("yield", "core", "values*", none, "Ends a region of if, reduce or scan.",
            effects=FLOW, terminator=True),
    declare("continue", "core", "values*", none,
            "Starts the next iteration of the innermost for or loop.",
            effects=FLOW, terminator=True),
    declare("break", "core", "values*", none,
            "Leaves the innermost for or loop with these results.", effects=FLOW, terminator=True),
    declare("leave", "core", "values*", none,
            "Leaves the innermost scope with these results.", effects=FLOW, terminator=True),
    declare("return", "core", "", none, "Ends this block of the grid.",
            effects=FLOW, terminator=True),
)  # fmt: skip
