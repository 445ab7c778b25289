"""Build ops in a block, and rebuild functions; result types follow from the declarations of ops.

A pass passes a visitor to `rewrite`. The visitor sees each op with its operands already mapped. It
returns None (the op is copied) or the values that replace the op's results, having built them
through the builder. If it returns `op.results` themselves, the op is dropped, and the verifier
rejects any use that is left. Regions are rewritten before the copy is made. Nothing is emitted into
a block that already has its terminator.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from ..base.dtypes import AnyDType, f8e8m0fnu, i64
from ..base.source import Span
from .core import Block, Func, Op, Value
from .opdef import REQUIRED, OpDef, TypeRuleError
from .ops import OPS
from .ops.control import YIELD
from .types import PtrType, TileType, TokenType, Type

# --- build ops one after another in a block ----------------------------------------------------

Given: TypeAlias = Value | Sequence[Value] | None


def make_op(
    name: str,
    *operands: Given,
    regions: Sequence[Block] = (),
    span: Span | None = None,
    attrs: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
) -> Op:
    """Make one op: operands in declared order, a sequence for `*`, None or nothing for `?`."""
    defn = OPS[name]
    flat, sizes = _flatten(defn, operands)
    full = _attributes(defn, attrs or {})
    types = defn.rule([v.type for v in flat], full)
    labels = [*names, *[""] * (len(types) - len(names))]
    results = tuple(Value(t, label) for t, label in zip(types, labels, strict=True))
    return Op(defn, flat, sizes, full, results, tuple(regions), span)


def _flatten(defn: OpDef, given: Sequence[Given]) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    if len(given) > len(defn.operands):
        raise TypeRuleError(f"{defn.name} takes {len(defn.operands)} operands, got {len(given)}")
    padded = [*given, *[None] * (len(defn.operands) - len(given))]
    flat: list[Value] = []
    sizes: list[int] = []
    for spec, value in zip(defn.operands, padded, strict=True):
        group = () if value is None else (value,) if isinstance(value, Value) else tuple(value)
        if (spec.arity == "" and len(group) != 1) or (spec.arity == "?" and len(group) > 1):
            raise TypeRuleError(f"{defn.name}: operand {spec.name!r} got {len(group)} values")
        flat += group
        sizes.append(len(group))
    return tuple(flat), tuple(sizes)


def _attributes(defn: OpDef, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {a.name: a.default for a in defn.attrs}
    if unknown := given.keys() - known.keys():
        raise TypeRuleError(f"{defn.name} has no attribute {', '.join(sorted(unknown))}")
    full = {**known, **given}
    if missing := [k for k, v in full.items() if v is REQUIRED]:
        raise TypeRuleError(f"{defn.name} needs attribute {', '.join(missing)}")
    return full


class Builder:
    """A builder that appends ops to the current block; `at` enters a region and returns from it."""

    def __init__(self, block: Block, span: Span | None = None) -> None:
        self.block = block
        self.span = span

    def op(self, name: str, *operands: Given, regions: Sequence[Block] = (), **attrs: Any) -> Op:
        """Append an op and return it."""
        op = make_op(name, *operands, regions=regions, span=self.span, attrs=attrs)
        self.block.ops.append(op)
        return op

    def emit(self, name: str, *operands: Given, **attrs: Any) -> Value:
        """Append an op with one result and return the result."""
        return self.op(name, *operands, **attrs).result

    def constant(self, value: float | bool, dtype: AnyDType, shape: tuple[int, ...] = ()) -> Value:
        """Append a constant; the value must be exact in the dtype."""
        return self.emit("constant", value=value, dtype=dtype, shape=shape)

    @contextmanager
    def at(self, block: Block) -> Generator[Block, None, None]:
        """Append to another block for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer


# --- rewriting ---------------------------------------------------------------------------------

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

        Return the operands of its terminator, if it is one of `ends` and control gets there. Return
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
        """Append a zero of a type that can be carried, where any value will do."""
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
    """Return a copy of the function with another body."""
    return replace(func, body=body)
