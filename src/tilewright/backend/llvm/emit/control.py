"""Structured control flow as blocks and branches; carried scalars live in stack slots."""

from __future__ import annotations

from collections.abc import Callable

from ..functions.text import where
from ..plan.nodes import For, If, Jump, Repeat, Scope
from .emitter import Emitter, Labels
from .polling import Rounds, enter, look_up


def _for(emitter: Emitter, loop: For) -> None:
    """Counts rounds, so that a bound near the end of the type cannot make it endless."""
    lower, upper, step = (emitter.scalar(v).frozen() for v in loop.op.operands[:3])
    signed = loop.iv.tile.dtype.is_signed
    runs = lower.compare("", "slt" if signed else "ult", upper)
    runs = runs & (step > 0 if signed else step.ne(0))
    safe = where(runs, step, step.like(1))
    rounds = (upper - lower - 1).binary("udiv", safe) + 1
    rounds = where(runs, rounds, rounds.like(0))
    counter = emitter.slot(lower.elem)
    emitter.store(lower.like(0), counter)
    head, inside, again, done = (emitter.label(w) for w in ("for", "body", "next", "done"))
    body, turns = emitter.body, Rounds(emitter, loop.op, rounds, (lower, upper, step))
    body.jump(head)
    body.label(head)
    count = emitter.load(counter, lower.elem)
    turns.begin(count, inside, done)
    body.label(inside)
    emitter.names[loop.iv] = lower + count * step
    emitter.loops.append(Labels(again, done))
    emitter.statements(loop.body)
    emitter.loops.pop()
    body.label(again)
    emitter.store(emitter.load(counter, lower.elem) + 1, counter)
    turns.end()
    body.jump(head)
    body.label(done)


def _loop(emitter: Emitter, loop: Repeat) -> None:
    head, again, done = (emitter.label(word) for word in ("loop", "next", "done"))
    outer = enter(emitter)
    emitter.body.jump(head)
    emitter.body.label(head)
    emitter.loops.append(Labels(again, done))
    emitter.statements(loop.body)
    emitter.loops.pop()
    emitter.body.label(again)
    look_up(emitter, outer)
    emitter.body.jump(head)
    emitter.body.label(done)


def _if(emitter: Emitter, statement: If) -> None:
    then, orelse, after = (emitter.label(word) for word in ("then", "else", "after"))
    emitter.branch(emitter.scalar(statement.cond), then, orelse)
    for label, inner in ((then, statement.then), (orelse, statement.orelse)):
        emitter.body.label(label)
        emitter.statements(inner)
        if not (inner and isinstance(inner[-1], Jump)):
            emitter.body.jump(after)
    emitter.body.label(after)


def _scope(emitter: Emitter, statement: Scope) -> None:
    done = emitter.label("left")
    emitter.scopes.append(done)
    emitter.statements(statement.body)
    emitter.scopes.pop()
    emitter.body.label(done)


def jump(emitter: Emitter, statement: Jump) -> None:
    """Go where a terminator says."""
    targets: dict[str, Callable[[], str]] = {
        "continue": lambda: emitter.loops[-1].again,
        "break": lambda: emitter.loops[-1].done,
        "leave": lambda: emitter.scopes[-1],
        "return": lambda: emitter.next_block,
    }
    emitter.body.jump(targets[statement.kind]())


TABLE: dict[str, Callable[..., None]] = {
    "for": _for,
    "loop": _loop,
    "if": _if,
    "scope": _scope,
    "yield": jump,
    "continue": jump,
    "break": jump,
    "leave": jump,
    "return": jump,
}
