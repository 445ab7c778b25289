"""How often each value is used, and what a region takes from outside."""

from __future__ import annotations

from collections import Counter

from ..ir.core import Block, Func, Value


def use_counts(func: Func) -> Counter[Value]:
    """How many operands each value is, over the whole function."""
    return Counter(value for op in func.walk() for value in op.operands)


def captured(*regions: Block) -> tuple[Value, ...]:
    """The values read inside regions but defined outside, in order of first use."""
    inner: set[Value] = {arg for region in regions for arg in region.args}
    found: dict[Value, None] = {}
    for region in regions:
        for op in region.walk():
            found.update((value, None) for value in op.operands if value not in inner)
            inner.update(op.results)
            inner.update(arg for nested in op.regions for arg in nested.args)
    return tuple(found)
