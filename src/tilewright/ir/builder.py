"""Build ops one after another in a block; result types follow from the op's declaration."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from ..base.dtypes import AnyDType
from ..base.source import Span
from .core import Block, Op, Value
from .opdef import REQUIRED, OpDef, TypeRuleError
from .ops import OPS

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
