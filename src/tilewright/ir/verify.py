"""Verify well-formed IR; runs between stages, so that a bug is found in the stage that made it."""

from __future__ import annotations

from collections.abc import Sequence

from .core import Block, Func, Op, Value
from .opdef import OpDef, Trait, TypeRuleError
from .ops.control import BREAK, CONTINUE, FOR, IF, LEAVE, RETURN, SCOPE, YIELD
from .printer import print_func
from .types import Type


class InvalidIR(Exception):
    """IR that breaks its own rules: a bug in the stage that made it."""


def verify(func: Func, stage: str = "") -> None:
    """Reject IR that is not well formed, naming the stage that made it."""
    try:
        _Verifier().function(func)
    except InvalidIR as error:
        where = f" after {stage}" if stage else ""
        raise InvalidIR(f"invalid IR{where}: {error}\n{print_func(func)}") from None


class _Verifier:
    def __init__(self) -> None:
        self.visible: set[Value] = set()
        self.defined: set[Value] = set()
        self.loops: list[tuple[Type, ...]] = []
        self.scopes: list[tuple[Type, ...]] = []

    def function(self, func: Func) -> None:
        self.visible.update(func.params)
        self.block(func.body, (RETURN,), ())

    def block(self, block: Block, ends: Sequence[OpDef], yielded: tuple[Type, ...]) -> None:
        outer = set(self.visible)
        self.visible.update(block.args)
        _need(bool(block.ops), "a block without a terminator")
        for op in block.ops[:-1]:
            _need(not op.defn.terminator, "{} in the middle of a block", op.name)
            self.op(op)
        last = block.terminator
        _need(last.defn.terminator, "a block that ends in {}", last.name)
        self.op(last)
        self.terminator(last, ends, yielded)
        self.visible = outer

    def op(self, op: Op) -> None:
        for value in op.operands:
            _need(value in self.visible, "{} uses a value that is not visible", op.defn.name)
        try:
            types = op.defn.rule([v.type for v in op.operands], op.attrs)
        except TypeRuleError as error:
            raise InvalidIR(f"{op.name}: {error}") from None
        name = op.defn.name
        _need(types == tuple(v.type for v in op.results), "{} has wrong result types", name)
        _need(len(op.regions) == op.defn.regions, "{} has wrong number of regions", name)
        self.regions(op)
        for value in op.results:
            _need(value not in self.defined, "{} defines a value twice", name)
        self.defined.update(op.results)
        self.visible.update(op.results)

    def regions(self, op: Op) -> None:
        if not op.regions:
            return
        results = tuple(v.type for v in op.results)
        if op.has(Trait.LOOP):
            self.loop(op, results)
        elif op.is_a(IF):
            for region in op.regions:
                self.block(region, (YIELD,), results)
        elif op.is_a(SCOPE):
            self.scopes.append(results)
            self.block(op.regions[0], (LEAVE,), ())
            self.scopes.pop()
        else:
            self.combiner(op)

    def loop(self, op: Op, results: tuple[Type, ...]) -> None:
        (body,) = op.regions
        first = (op.one("lower").type,) if op.is_a(FOR) else ()
        expected = (*first, *results)
        _need(tuple(v.type for v in body.args) == expected, "{} block arguments", op.name)
        self.loops.append(results)
        self.block(body, (CONTINUE, BREAK), ())
        self.loops.pop()

    def combiner(self, op: Op) -> None:
        (body,) = op.regions
        scalars = tuple(v.tile.with_shape(()) for v in op.operands)
        pairs = tuple(t for t in scalars for _ in range(2))
        _need(tuple(v.type for v in body.args) == pairs, "{} block arguments", op.name)
        for inner in body.walk():
            _need(inner.defn.pure or inner.is_a(YIELD), "{} inside {}", inner.name, op.name)
        self.block(body, (YIELD,), scalars)

    def terminator(self, op: Op, ends: Sequence[OpDef], yielded: tuple[Type, ...]) -> None:
        given = tuple(v.type for v in op.operands)
        if op.is_a(YIELD):
            _need(YIELD in ends, "yield outside if, reduce and scan")
            expected = yielded
        elif op.is_a(CONTINUE, BREAK):
            _need(bool(self.loops), "{} outside a loop", op.name)
            expected = self.loops[-1]
        elif op.is_a(LEAVE):
            _need(bool(self.scopes), "leave outside a scope")
            expected = self.scopes[-1]
        else:
            expected = ()
        if given != expected:
            raise InvalidIR(f"{op.name} passes {_show(given)}, expected {_show(expected)}")


def _show(types: tuple[Type, ...]) -> str:
    return f"({', '.join(map(str, types))})"


def _need(ok: bool, message: str, *about: object) -> None:
    if not ok:
        raise InvalidIR(message.format(*about) if about else message)
