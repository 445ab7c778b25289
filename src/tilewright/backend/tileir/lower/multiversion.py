"""Multi-versions the body of a kernel: for blocks whose tiles are all in bounds, and for others.

Where each load asks for itself, what it loads must be complete before the next load is begun. One
question before all of them lets the assembler load, compute and store as it sees fit. Where tiles
lie inside, extents are at least their lengths, so masks made of them are not needed.
"""

from __future__ import annotations

from ....ir.core import Op, Value
from ..program.core import Val
from .emitter import Emitter
from .memory import is_whole, place_of


def multiversioned_body(em: Emitter) -> None:
    """The whole body behind one question."""
    em.either(_all_whole(em), (lambda: _body(em, whole=True), lambda: _body(em, whole=False)))


def _body(em: Emitter, *, whole: bool) -> tuple[Val, ...]:
    views = dict(em.views)
    em.whole, em.least = whole, _least(em) if whole else {}
    em.ops(em.func.body.ops)
    em.whole, em.views, em.least = None, views, {}
    return ()


def _least(em: Emitter) -> dict[tuple[Value, int], int]:
    """What the extents of tensors are at least where the tiles that were asked for lie inside."""
    found: dict[tuple[Value, int], int] = {}
    for op, access in em.decisions.accesses.items():
        if not access.whole_first or access.view is None:
            continue
        for axis, length, index in zip(
            access.view.dim_map, access.view.tile, op.all("index"), strict=True
        ):
            key = _tensor_of(em, op), axis
            tiles = max(em.ranges.of(index).low, 0) + 1
            found[key] = max(found.get(key, 0), tiles * length)
    return found


def _tensor_of(em: Emitter, load: Op) -> Value:
    view = em.nesting.definer(load.one("view"))
    assert view is not None, "views are made by make_view"
    return view.one("tensor")


def _all_whole(em: Emitter) -> Val:
    """Whether all tiles lie inside that are loaded in a way of their own then."""
    made: set[Value] = set()
    asked: dict[tuple[object, ...], Val] = {}
    for op, access in em.decisions.accesses.items():
        index = op.all("index")
        if not access.whole_first or access.view is None:
            continue
        key = (_tensor_of(em, op), access.view, index)
        if key not in asked:
            for value in index:
                _make(em, value, made)
            asked[key] = is_whole(em, em.memory[key[0]], access.view, place_of(em, op))
    first, *others = asked.values()
    for answer in others:
        first = em.same("andi", first, answer)
    return first


def _make(em: Emitter, value: Value, made: set[Value]) -> None:
    """Lower what an index is computed from, which is done again in the body."""
    maker = em.nesting.definer(value)
    if maker is None or value in made:
        return
    for operand in maker.operands:
        _make(em, operand, made)
    made.update(maker.results)
    em.ops([maker])
