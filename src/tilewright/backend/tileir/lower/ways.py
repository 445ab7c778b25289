"""The body of a kernel twice: for blocks whose tiles all lie inside, and for the others.

Where each load asks for itself, what it loads must be complete before the next load is begun. One
question before all of them lets the assembler load, compute and store as it sees fit.
"""

from __future__ import annotations

from ....ir.core import Value
from ..program.core import Val
from .emitter import Emitter
from .memory import is_whole


def body_either_way(em: Emitter) -> None:
    """The whole body behind one question."""
    em.either(_all_whole(em), (lambda: _body(em, whole=True), lambda: _body(em, whole=False)))


def _body(em: Emitter, *, whole: bool) -> tuple[Val, ...]:
    views = dict(em.views)
    em.whole = whole
    em.ops(em.func.body.ops)
    em.whole, em.views = None, views
    return ()


def _all_whole(em: Emitter) -> Val:
    """Whether all tiles lie inside that are loaded in a way of their own then."""
    made: set[Value] = set()
    asked: dict[tuple[object, ...], Val] = {}
    for op, access in em.choices.accesses.items():
        index = op.all("index")
        if not access.whole_first or access.view is None:
            continue
        view = em.nesting.definer(op.one("view"))
        assert view is not None, "views are made by make_view"
        key = (view.one("tensor"), access.view, index)
        if key not in asked:
            for value in index:
                _make(em, value, made)
            memory = em.memory[view.one("tensor")]
            asked[key] = is_whole(em, memory, access.view, [em.get(v) for v in index])
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
