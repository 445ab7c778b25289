"""Rules of the threads family: witnesses, and where a thread stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import Code
from ...ir.attrs import Place
from ...ir.core import Value
from ..describe import describe
from ..emit import Emitter
from ..launch_expr_builder import expression
from ..matrix import along


def _index_1d(em: Emitter) -> Value:
    _require_domain(em, "index_1d", 1)
    index = em.emit("index_1d")
    em.witnesses[index] = None
    return index


def _index_2d(em: Emitter, width: Any) -> Value:
    _require_domain(em, "index_2d", 2)
    value = em.index(width, "the width")
    known = expression(em, value)
    if known is None:
        em.fail(
            Code.WITNESS,
            "the width of an index must be uniform: the same in all threads",
            expected="a constant, a scalar parameter, or computed from those and from len(...)",
            got=describe(width),
            hint="pass the width as an argument of the kernel",
        )
    index = em.emit("index_2d", value)
    em.witnesses[index] = known
    return index


def _require_domain(em: Emitter, word: str, axes: int) -> None:
    """Refuse an index that every launch of this kernel would make invalid."""
    em.require_threads(f"simt.{word}()")
    domain = len(em.signature.block or ())
    if domain != axes:
        em.fail(
            Code.WITNESS,
            f"simt.{word}() is not supported in a kernel of domain {domain}",
            expected=f"a kernel declared with @simt.kernel(domain={axes})",
            got=f"domain={domain}",
        )


def _row(em: Emitter, self: Any) -> Value:
    return _along(em, self, 1, "row")


def _col(em: Emitter, self: Any) -> Value:
    return _along(em, self, 0, "col")


def _along(em: Emitter, index: Value, axis: int, what: str) -> Value:
    if em.witnesses[index] is None:
        em.fail(
            Code.ATTRIBUTE,
            f"a witness of index_1d() has no `{what}`",
            expected="a witness of simt.index_2d(width)",
            got="one of simt.index_1d()",
        )
    return along(em, axis)


def _number(em: Emitter, what: Place, axis: int) -> Value:
    return em.emit("place", what=what, axis=axis)


def _place(name: str, what: Place) -> Callable[..., Value | int]:
    def rule(em: Emitter, axis: Any = 0) -> Value | int:
        em.require_threads(f"simt.{name}()")
        number = em.static_int(axis, "axis")
        if not 0 <= number < 3:
            em.fail(
                Code.RANK,
                f"threads have no axis {number}",
                expected="0 for x, 1 for y or 2 for z",
                got=str(number),
            )
        if what is Place.BLOCK_SIZE and em.signature.exact_block:
            return em.signature.block_dims[number]
        return _number(em, what, number)

    return rule


RULES: dict[str, Callable[..., Any]] = {
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "thread_idx": _place("thread_idx", Place.THREAD),
    "block_idx": _place("block_idx", Place.BLOCK),
    "block_dim": _place("block_dim", Place.BLOCK_SIZE),
    "grid_dim": _place("grid_dim", Place.GRID_SIZE),
    "Index.row": _row,
    "Index.col": _col,
}
PROPERTIES: frozenset[str] = frozenset(("Index.row", "Index.col"))
