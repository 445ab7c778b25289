"""Path conditions: when control reaches an op, as far as the launch decides it.

A condition on what differs between blocks or rounds holds in some of them: a `Limit` says exactly
when. A `Path` is all that must hold on the way to an op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...ir.launch_expr import Expr
from .linear import Linear, condition
from .symbolic_range import Cause, Span, depend


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition that holds in some block or round if and only if all `guards` hold.

    It does so only where `causes` have some of their values, and if all `needs` are 0 or more.
    """

    guards: tuple[Expr, ...]
    needs: frozenset[Linear]
    causes: frozenset[Cause]


@dataclass(frozen=True, slots=True)
class Path:
    """When control gets to a place.

    It does in some block whenever all `guards` hold (launch expressions), provided that it is
    `sure` and that all `needs` are 0 or more. What `restricted` names varies less here than
    elsewhere.
    """

    guards: tuple[Expr, ...] = ()
    needs: frozenset[Linear] = frozenset()
    restricted: frozenset[Cause] = frozenset()
    sure: bool = True

    def unsure(self) -> Path:
        """The same, but whether control gets there is not for the launch to say."""
        return replace(self, sure=False)

    def under(self, limit: Limit, causes: Sequence[Cause]) -> Path:
        """The path on under a further condition; `causes` are all that were there before it."""
        if limit.causes & self.restricted:
            return self.unsure()  # it may never hold together with those before it
        return replace(
            self,
            guards=(*self.guards, *limit.guards),
            needs=self.needs | limit.needs,
            restricted=self.restricted.union(c for c in causes if depend((c,), limit.causes)),
        )


def at_least_zero(form: Linear) -> Limit:
    """The condition that a form, which the launch decides, is 0 or more."""
    return Limit((condition(form),), frozenset(), frozenset())


def somewhere(span: Span, best: Linear) -> Limit | None:
    """A condition on one value that holds somewhere if it does where it holds best."""
    return Limit((condition(best),), span.needs, span.varies) if span.exact else None


def both(a: Limit | None, b: Limit | None) -> Limit | None:
    """Two conditions on what varies independently; else they may hold, but never together."""
    if a is None or b is None or depend(a.causes, b.causes):
        return None
    return Limit((*a.guards, *b.guards), a.needs | b.needs, a.causes | b.causes)
