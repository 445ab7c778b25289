"""Short bodies for tests of canonicalization."""

from __future__ import annotations

from tilewright.ir.core import Func
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.dce import dce


def canonical(func: Func) -> Func:
    """Canonicalize, then drop what is unused, so that the texts stay short."""
    return dce(canonicalize(func))


def value_of(expression: str, *, constants: str = "") -> str:
    """A body that prints one expression."""
    return f"{constants}\n%r = {expression}\nprint %r\nreturn".strip()


def constant(name: str, value: str, dtype: str) -> str:
    """One line that makes a constant."""
    return f"%{name} = constant {{value={value}, dtype={dtype}}}\n"
