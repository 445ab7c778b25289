"""Atomic read-modify-write through pointers; each element on its own, in no order."""

from __future__ import annotations

from collections.abc import Sequence

from ..attrs import AtomicMode, Ordering, Scope
from ..opdef import Effect, declare
from ..types import Type
from .pointer import fits, mask
from .rules import Attrs, combines

ATOMIC = {"ordering": Ordering.ACQ_REL, "scope": Scope.DEVICE}


def _rmw(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    result = fits(types[0], types[1])
    combines(attrs["mode"], result.dtype)
    for t in types[2:]:
        mask(types[0], t)
    return (result,)


def _cas(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    result = fits(types[0], types[1])
    fits(types[0], types[2])
    for t in types[3:]:
        mask(types[0], t)
    return (result,)


BOTH = Effect.READ | Effect.WRITE

OPS = (
    declare("atomic_rmw", "core", "target value mask?", _rmw,
            "Combines `value` into memory where mask; gives the old values (zero elsewhere).",
            attrs={"mode": AtomicMode.ADD} | ATOMIC, effects=BOTH),
    declare("atomic_cas", "core", "target compare value mask?", _cas,
            "Stores `value` where memory equals `compare` bit for bit; gives the old values"
            " (`compare` where not mask).", attrs=ATOMIC, effects=BOTH),
)  # fmt: skip
