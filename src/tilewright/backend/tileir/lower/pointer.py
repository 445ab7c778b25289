"""Raw pointers: gather, scatter and address arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.attrs import Ordering, Scope
from ....ir.core import Op
from ..encoding.enums import MemoryOrdering, MemoryScope
from ..program.core import Hints, Val
from ..program.types import TOKEN, tile_of
from .arithmetic import is_signed
from .emitter import Emitter, Rule

ORDERINGS: dict[Ordering, MemoryOrdering] = {
    Ordering.WEAK: MemoryOrdering.WEAK, Ordering.RELAXED: MemoryOrdering.RELAXED,
    Ordering.ACQUIRE: MemoryOrdering.ACQUIRE, Ordering.RELEASE: MemoryOrdering.RELEASE,
    Ordering.ACQ_REL: MemoryOrdering.ACQ_REL,
}  # fmt: skip
SCOPES: dict[Scope, MemoryScope] = {
    Scope.TILE_BLOCK: MemoryScope.TL_BLK, Scope.DEVICE: MemoryScope.DEVICE,
    Scope.SYSTEM: MemoryScope.SYS,
}  # fmt: skip


def order_of(op: Op) -> dict[str, Any]:
    """Memory order and scope; a weak access has none."""
    ordering: Ordering = op.attrs["ordering"]
    weak = ordering is Ordering.WEAK
    scope = None if weak else SCOPES[op.attrs["scope"]]
    return {"memory_ordering_semantics": ORDERINGS[ordering], "memory_scope": scope}


def _hints(em: Emitter, op: Op) -> Hints | None:
    latency: int | None = op.attrs["latency"]
    latency = em.target.codegen_hints.latency if latency is None else latency
    return None if latency is None else {em.target.arch: {"latency": latency}}


def _offset(em: Emitter, op: Op) -> Sequence[Val]:
    pointer, by = em.all(op)
    offsets = op.one("by")
    if not is_signed(offsets):  # offsets have a sign here
        by = em.widened(by, signed=False)
    return (em.one("offset", pointer.kind, pointer, by),)


def _load(em: Emitter, op: Op) -> Sequence[Val]:
    kind = tile_of(op.results[0].type)
    mask, padding = op.maybe("mask"), op.maybe("padding")
    given = None if mask is None else em.get(mask)
    rest = None
    if mask is not None:
        rest = em.bits(0, kind) if padding is None else em.get(padding)
    return em.op(
        "load_ptr_tko", [kind, TOKEN], em.get(op.one("source")), given, rest, em.token_of(op),
        **order_of(op), optimization_hints=_hints(em, op),
    )  # fmt: skip


def _store(em: Emitter, op: Op) -> Sequence[Val]:
    mask = op.maybe("mask")
    given = None if mask is None else em.get(mask)
    return em.op(
        "store_ptr_tko", [TOKEN], em.get(op.one("target")), em.get(op.one("value")), given,
        em.token_of(op), **order_of(op), optimization_hints=_hints(em, op),
    )  # fmt: skip


def _recast(em: Emitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    kind = tile_of(op.result.type)
    return (arg if kind == arg.kind else em.one(op.name, kind, arg),)


def _plain(rule: Rule, results: int) -> Rule:
    def without_token(em: Emitter, op: Op) -> Sequence[Val]:
        return rule(em, op)[:results]

    return without_token


RULES: dict[str, Rule] = {
    "offset": _offset, "load_ptr": _plain(_load, 1), "store_ptr": _plain(_store, 0),
    **dict.fromkeys(("ptr_to_int", "int_to_ptr", "ptr_to_ptr"), _recast),
}  # fmt: skip
ORDERED: dict[str, Rule] = {"load_ptr_tko": _load, "store_ptr_tko": _store}
