"""The ops of a function that may report from a running kernel, numbered."""

from __future__ import annotations

from .artifact import Site
from .core import Func, Op
from .opdef import Effect

REPORTING = Effect.CHECK | Effect.PRINT


def reporting_ops(func: Func) -> list[Op]:
    """The ops that may report, in walk order; an op's position is its site number."""
    return [op for op in func.walk() if op.defn.effects & REPORTING]


def sites_of(func: Func) -> tuple[Site, ...]:
    """The sites of a function, in the order of `reporting_ops`."""
    return tuple(_site(op) for op in reporting_ops(func))


def _site(op: Op) -> Site:
    if op.name == "check":
        kind = "element" if op.attrs["elements"] else "check"
        return Site(kind, op.span, op.attrs["tensor"], op.attrs["axis"])
    if op.name == "check_index":
        return Site("index", op.span, op.attrs["slice"])
    if op.name == "assert":
        return Site("assert", op.span, message=op.attrs["message"])
    types = tuple(v.tile for v in op.operands)
    return Site("print", op.span, template=op.attrs["template"], types=types)
