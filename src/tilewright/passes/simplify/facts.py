"""What the simplification rules may ask about the function they simplify, and what a rule is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...analysis.constants import Constants, constants, same
from ...analysis.fold import Number
from ...analysis.ranges import Ranges, ranges
from ...analysis.structure import Structure, structure
from ...analysis.uses import use_counts
from ...ir.core import Func, Op, Value
from ...ir.rewrite import Rewriter


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts about the old function; rules ask them of old values."""

    known: Constants
    ranges: Ranges
    nesting: Structure
    uses: Counter[Value]

    def is_number(self, value: Value, number: Number) -> bool:
        """Whether all elements of a value surely are this number, to the bit."""
        known = self.known.get(value)
        return known is not None and same(known, number)

    def made_by(self, value: Value, name: str) -> Op | None:
        """The op that makes a value, if it is of this name."""
        op = self.nesting.definer(value)
        return op if op is not None and op.name == name else None


def facts_of(func: Func) -> Facts:
    """Gather the facts about a function."""
    known = constants(func)
    return Facts(known, ranges(func, known), structure(func), use_counts(func))


Rule: TypeAlias = Callable[[Facts, Rewriter, Op], Sequence[Value] | None]
"""Gives the new values for the op's results, having built what they need; None: does not apply."""
