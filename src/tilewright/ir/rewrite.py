"""Rewriting: walk the old function and build a new one. All passes use this.

A pass passes a visitor to `rewrite`. The visitor sees each op with its operands already mapped. It
returns None (the op is copied) or the values that replace the op's results, having built them
through the builder. If it returns `op.results` themselves, the op is dropped, and the verifier
rejects any use that is left. Regions are rewritten before the copy is made. Nothing is emitted into
a block that already has its terminator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..base.dtypes import f8e8m0fnu, i64
from .builder import Builder
from .core import Block, Func, Op, Value
from .opdef import OpDef
from .ops.control import YIELD
from .types import PtrType, TileType, TokenType, Type

Visitor: TypeAlias = Callable[["Rewriter", Op], Sequence[Value] | None]


class Rewriter(Builder):
    """A builder that also knows what became of the old values."""

    def __init__(self, visit: Visitor, mapping: Mapping[Value, Value] | None = None) -> None:
        super().__init__(Block())
        self.visit = visit
        self.mapping: dict[Value, Value] = dict(mapping or {})
        self.inlined: set[Block] = set()
        """Old blocks whose ops went into another block: their terminators are not its own."""

    @property
    def closed(self) -> bool:
        """Whether the current block has its terminator: what follows is never reached."""
        return bool(self.block.ops) and self.block.terminator.defn.terminator

    def get(self, value: Value) -> Value:
        """Return the new value for an old one (itself where it was not rewritten)."""
        return self.mapping.get(value, value)

    def many(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the new values for old ones."""
        return tuple(self.get(v) for v in values)

    def bind(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        """Map old values to new ones from here on."""
        self.mapping.update(zip(old, new, strict=True))

    def region(self, old: Block) -> Block:
        """Rewrite a region into a new block with new arguments."""
        new = Block(tuple(Value(a.type, a.name) for a in old.args))
        self.bind(old.args, new.args)
        with self.at(new):
            self.ops(old.ops)
        return new

    def inline(
        self, old: Block, args: Sequence[Value] = (), ends: Sequence[OpDef] = (YIELD,)
    ) -> tuple[Value, ...] | None:
        """Rewrite a region into the current block, its arguments standing for `args`.

        Gives what its terminator passes on, if it is one of `ends` and control gets there. Gives
        None otherwise; then the current block is closed.
        """
        self.bind(old.args, args)
        self.inlined.add(old)
        self.ops(old.ops[:-1])
        if not self.closed and old.terminator.is_a(*ends):
            return self.many(old.terminator.operands)
        self.ops(old.ops[-1:])
        return None

    def ops(self, ops: Sequence[Op]) -> None:
        """Rewrite a run of ops into the current block, up to what control cannot reach."""
        outer = self.span
        for op in ops:
            if self.closed:
                break
            self.span = op.span
            replaced = self.visit(self, op)
            self.stand_for(op, self.copy(op).results if replaced is None else replaced)
        self.span = outer

    def stand_for(self, op: Op, results: Sequence[Value]) -> None:
        """Map an op's results to new values, which take its names if they have none."""
        self.bind(op.results, results)
        for old, new in zip(op.results, results, strict=True):
            new.name = new.name or old.name

    def copy(self, op: Op) -> Op:
        """Append a copy of an old op with new operands and rewritten regions."""
        regions = tuple(self.region(r) for r in op.regions)
        return self.put(op, self.many(op.operands), regions)

    def put(self, op: Op, operands: Sequence[Value], regions: Sequence[Block] = ()) -> Op:
        """Append an op like an old one, of the same types, on new operands and regions."""
        results = tuple(Value(v.type, v.name) for v in op.results)
        new = Op(op.defn, tuple(operands), op.sizes, op.attrs, results, tuple(regions), op.span)
        self.block.ops.append(new)
        return new

    def zero(self, kind: Type) -> Value:
        """Append something of a type that can be carried, for where its value does not matter."""
        if isinstance(kind, TokenType):
            return self.emit("make_token")
        assert isinstance(kind, TileType), f"{kind} cannot be carried"
        if isinstance(kind.elem, PtrType):
            return self.emit("int_to_ptr", self.constant(0, i64, kind.shape), to=kind.elem.to)
        # f8e8m0fnu holds powers of two only.
        value = 1.0 if kind.dtype is f8e8m0fnu else 0.0 if kind.dtype.is_float else 0
        return self.constant(bool(value) if kind.dtype.is_bool else value, kind.dtype, kind.shape)


def rewrite(func: Func, visit: Visitor) -> Func:
    """Build a new function by showing every op to `visit`."""
    rewriter = Rewriter(visit)
    return with_body(func, rewriter.region(func.body))


def with_body(func: Func, body: Block) -> Func:
    """Return the same function with another body."""
    return replace(func, body=body)
