"""Atomics: those that Tile IR has, and the others as loops of compare-and-swap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.dtypes import AnyDType
from ....ir.attrs import AtomicMode
from ....ir.core import Op
from ..encoding import enums
from ..program.core import Val
from ..program.types import BF16, F16, F32, F64, I32, I64, TOKEN, Scalar, tile_of
from .cas_loops import cas_loop
from .emitter import Emitter, Rule, tile
from .pointer import order_of

BITS: dict[AtomicMode, enums.AtomicMode] = {
    AtomicMode.AND: enums.AtomicMode.AND, AtomicMode.OR: enums.AtomicMode.OR,
    AtomicMode.XOR: enums.AtomicMode.XOR, AtomicMode.ADD: enums.AtomicMode.ADD,
}  # fmt: skip
EXTREMES: dict[AtomicMode, tuple[enums.AtomicMode, enums.AtomicMode]] = {
    AtomicMode.MAX: (enums.AtomicMode.UMAX, enums.AtomicMode.MAX),
    AtomicMode.MIN: (enums.AtomicMode.UMIN, enums.AtomicMode.MIN),
}
"""By whether the integers are signed."""
ADDED_SINCE: dict[Scalar, int] = {F16: 80, BF16: 90, F32: 80, F64: 80}
"""The first architecture that adds floats of a type atomically."""


def mode_of(
    em: Emitter, mode: AtomicMode, dtype: AnyDType, kind: Scalar
) -> enums.AtomicMode | None:
    """The mode as Tile IR has it; None if it has none for this element type."""
    if mode is AtomicMode.ADD and dtype.is_float:
        return enums.AtomicMode.ADDF if em.target.number >= ADDED_SINCE[kind] else None
    if kind.width < 32:
        return None
    if mode is AtomicMode.XCHG:
        return enums.AtomicMode.XCHG
    if dtype.is_float:
        return None
    return EXTREMES[mode][dtype.is_signed] if mode in EXTREMES else BITS[mode]


def atomic_order(op: Op) -> dict[str, Any]:
    """Memory order and scope of an atomic, which is never weak."""
    given = order_of(op)
    return given if given["memory_scope"] is not None else given | {
        "memory_ordering_semantics": enums.MemoryOrdering.RELAXED,
        "memory_scope": enums.MemoryScope.DEVICE,
    }  # fmt: skip


def combine(
    em: Emitter,
    op: Op,
    pointers: Val,
    value: Val,
    mask: Val | None,
    token: Val | None,
    dtype: AnyDType,
) -> tuple[Val, Val]:
    """Combine values into memory; gives the old ones and a token."""
    mode = mode_of(em, op.attrs["mode"], dtype, tile(value).scalar)
    if mode is None:
        return cas_loop(em, op.attrs["mode"], pointers, value, mask, token, dtype)
    old, done = em.op(
        "atomic_rmw_tko", [value.kind, TOKEN], pointers, value, mask, token,
        **atomic_order(op), mode=mode,
    )  # fmt: skip
    return old, done


def _rmw(em: Emitter, op: Op) -> Sequence[Val]:
    given = op.maybe("mask")
    mask = None if given is None else em.get(given)
    value = em.get(op.one("value"))
    dtype = op.one("value").tile.dtype
    old, token = combine(em, op, em.get(op.one("target")), value, mask, em.token_of(op), dtype)
    if mask is not None:
        old = em.one("select", value.kind, mask, old, em.bits(0, tile(value)))
    return old, token


SWAPPED = (I32, I64, F32, F64)


def _cas(em: Emitter, op: Op) -> Sequence[Val]:
    given = op.maybe("mask")
    mask = None if given is None else em.get(given)
    kind = tile_of(op.results[0].type)
    target, compare, value = (em.get(op.one(n)) for n in ("target", "compare", "value"))
    if kind.elem not in SWAPPED:
        return cas_loop(
            em, None, target, value, mask, em.token_of(op), op.one("value").tile.dtype, compare
        )
    return em.op(
        "atomic_cas_tko", [kind, TOKEN], target, compare, value, mask, em.token_of(op),
        **atomic_order(op),
    )  # fmt: skip


def _plain(rule: Rule) -> Rule:
    def without_token(em: Emitter, op: Op) -> Sequence[Val]:
        return rule(em, op)[:1]

    return without_token


RULES: dict[str, Rule] = {"atomic_rmw": _plain(_rmw), "atomic_cas": _plain(_cas)}
ORDERED: dict[str, Rule] = {"atomic_rmw_tko": _rmw, "atomic_cas_tko": _cas}
