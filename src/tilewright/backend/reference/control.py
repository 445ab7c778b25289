"""Structured control flow: a region ends in a jump, which the op it is meant for catches."""

from __future__ import annotations

import numpy as np

from ...ir.core import Op
from .machine import Frame, Jump, Rule, Steps, storage_type


def _for(frame: Frame, op: Op) -> Steps:
    (body,) = op.regions
    lower, upper, step = (frame.integer(op.one(name)) for name in ("lower", "upper", "step"))
    elem = storage_type(op.one("lower").tile)
    carried = frame.data(op.all("init"))
    # Python's integers do not wrap, so the counter cannot run past the upper bound and around.
    for i in range(lower, upper, step) if step > 0 else ():
        frame.bind(body.args, (np.asarray(i, elem), *carried))
        jump = yield from frame.steps(body)
        if jump.kind == "break":
            return jump.values
        if jump.kind != "continue":
            return jump
        carried = jump.values
    return carried


def _loop(frame: Frame, op: Op) -> Steps:
    (body,) = op.regions
    carried = frame.data(op.all("init"))
    while True:
        frame.bind(body.args, carried)
        jump = yield from frame.steps(body)
        if jump.kind == "break":
            return jump.values
        if jump.kind != "continue":
            return jump
        carried = jump.values


def _if(frame: Frame, op: Op) -> Steps:
    then, otherwise = op.regions
    jump = yield from frame.steps(then if bool(frame.array(op.one("cond"))) else otherwise)
    return jump.values if jump.kind == "yield" else jump


def _scope(frame: Frame, op: Op) -> Steps:
    jump = yield from frame.steps(op.regions[0])
    return jump.values if jump.kind == "leave" else jump


def _jump(frame: Frame, op: Op) -> Jump:
    return Jump(op.name, frame.data(op.operands))


RULES: dict[str, Rule] = {
    "for": _for,
    "loop": _loop,
    "if": _if,
    "scope": _scope,
    **dict.fromkeys(("yield", "continue", "break", "leave", "return"), _jump),
}
