"""The one way passes change IR: walk the old function, build a new one.

A pass subclasses nothing: it gives `rewrite` a visitor. The visitor sees each op with its operands
already mapped and either returns None (the op is copied) or the values that stand for its results
(it built what it wanted through the builder). Regions are rewritten before a copy is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from .builder import Builder
from .core import Block, Func, Op, Value

Visitor: TypeAlias = Callable[["Rewriter", Op], Sequence[Value] | None]


class Rewriter(Builder):
    """A builder that also knows what became of the old values."""

    def __init__(self, visit: Visitor, mapping: Mapping[Value, Value] | None = None) -> None:
        super().__init__(Block())
        self.visit = visit
        self.mapping: dict[Value, Value] = dict(mapping or {})

    def get(self, value: Value) -> Value:
        """The new value for an old one (itself where it was not rewritten)."""
        return self.mapping.get(value, value)

    def many(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """The new values for old ones."""
        return tuple(self.get(v) for v in values)

    def region(self, old: Block) -> Block:
        """Rewrite a region into a new block with new arguments."""
        new = Block(tuple(Value(a.type, a.name) for a in old.args))
        self.mapping.update(zip(old.args, new.args, strict=True))
        with self.at(new):
            self.ops(old.ops)
        return new

    def ops(self, ops: Sequence[Op]) -> None:
        """Rewrite a run of ops into the current block."""
        for op in ops:
            self.span = op.span
            replaced = self.visit(self, op)
            results = self.copy(op).results if replaced is None else tuple(replaced)
            self.mapping.update(zip(op.results, results, strict=True))

    def copy(self, op: Op) -> Op:
        """Append a copy of an old op with new operands and rewritten regions."""
        regions = tuple(self.region(r) for r in op.regions)
        results = tuple(Value(v.type, v.name) for v in op.results)
        new = Op(op.defn, self.many(op.operands), op.sizes, op.attrs, results, regions, op.span)
        self.block.ops.append(new)
        return new


def rewrite(func: Func, visit: Visitor) -> Func:
    """Build a new function by showing every op to `visit`."""
    rewriter = Rewriter(visit)
    body = rewriter.region(func.body)
    return Func(func.name, func.signature, func.params, body, func.launch_checks)
