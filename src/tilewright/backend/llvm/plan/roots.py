"""What the numbers of a plan depend on: the place of a block or of a visited tile, and counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....base.shapes import Shape
from ....ir.core import Op, Value
from .nodes import For, Get, Put, Scalar, Stmt, walk
from .statements import AtomicPointer, Combine, Nest, ReadView, SetVariable
from .values import Variable


@dataclass(frozen=True, slots=True)
class Roots:
    """By number of the plan what it is made of; what is the same in all blocks is left out."""

    of: dict[Value, frozenset[Value]]
    axes: dict[Value, int]
    """Which of them are the block's place, or that of the tile it visits, and along which axis."""
    groups: dict[Value, Shape]
    """The groups in which tiles are visited, for their places."""
    loaded: set[Value]
    """Which of them were loaded from memory that nobody writes: often the same one again."""


def roots_of(body: list[Stmt]) -> Roots:
    """What all numbers of a plan are made of."""
    roots = Roots({}, {}, {}, set())
    loaded = _loaded(body)
    for statement in walk(body):
        match statement:
            case Scalar(op):
                _note(roots, op)
            case Get():
                roots.of[statement.result] = frozenset((statement.result,))
                if statement.variable in loaded:
                    roots.loaded.add(statement.result)
            case For():
                roots.of[statement.iv] = frozenset((statement.iv,))
            case _:
                pass
    return roots


def _note(roots: Roots, op: Op) -> None:
    if op.name == "block_id":
        roots.axes[op.result] = op.attrs["axis"]
    elif op.name == "tile_index":
        roots.axes.update({place: axis for axis, place in enumerate(op.results)})
        groups: Shape = op.attrs["groups"]
        roots.groups.update(dict.fromkeys(op.results, groups))
    else:
        made = frozenset(r for v in op.operands for r in roots.of.get(v, ()))
        roots.of.update(dict.fromkeys(op.results, made))
        return
    roots.of.update({place: frozenset((place,)) for place in op.results})


def _loaded(body: list[Stmt]) -> set[Variable]:
    """Variables that are set in one place, by a load from memory that nobody writes."""
    places: dict[Variable, list[Stmt]] = {}
    for statement in walk(body):
        for variable in _set_by(statement):
            places.setdefault(variable, []).append(statement)
    return {variable for variable, by in places.items() if len(by) == 1 and _only_loads(by[0])}


def _set_by(statement: Stmt) -> Iterator[Variable]:
    for effect in statement.effects if isinstance(statement, Nest) else [statement]:
        match effect:
            case SetVariable() | Put():
                yield effect.variable
            case Combine():
                yield from (target for target in effect.targets if isinstance(target, Variable))
            case AtomicPointer(target=Variable() as target):
                yield target
            case _:
                pass


def _only_loads(statement: Stmt) -> bool:
    return (
        isinstance(statement, Nest)
        and all(isinstance(effect, SetVariable) for effect in statement.effects)
        and all(isinstance(read, ReadView) and is_constant(read) for read in statement.reads)
    )


def is_constant(read: ReadView) -> bool:
    """Whether nobody writes what is read while the kernel runs."""
    view = read.access.view
    known = view.tensor.param is not None and not view.tensor.mutable
    return known and view.sparse is None and view.frame is None
