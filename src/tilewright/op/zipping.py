"""tw.zip: several ops, or values, as one op with all their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from .core import DeviceOp, Made, as_op
from .lazy import all_parts
from .recipes import zipped

if TYPE_CHECKING:
    from ..launch.given import KernelArg

    Plain: TypeAlias = KernelArg | str | bytes | list[Any] | tuple[Any, ...] | dict[Any, Any] | None
    P = TypeVar("P", bound=Plain)
    Q = TypeVar("Q", bound=Plain)
    S = TypeVar("S", bound=Plain)
    U = TypeVar("U", bound=Plain)
    V = TypeVar("V", bound=Plain)
    W = TypeVar("W", bound=Plain)

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
F = TypeVar("F")
G = TypeVar("G")


@overload
def zip(  # type: ignore[overload-overlap]
    a: DeviceOp[A], /
) -> DeviceOp[tuple[A]]: ...
@overload
def zip(  # type: ignore[overload-overlap]
    a: DeviceOp[A], b: DeviceOp[B], /
) -> DeviceOp[tuple[A, B]]: ...
@overload
def zip(  # type: ignore[overload-overlap]
    a: DeviceOp[A], b: DeviceOp[B], c: DeviceOp[C], /
) -> DeviceOp[tuple[A, B, C]]: ...
@overload
def zip(  # type: ignore[overload-overlap]
    a: DeviceOp[A], b: DeviceOp[B], c: DeviceOp[C], d: DeviceOp[D], /
) -> DeviceOp[tuple[A, B, C, D]]: ...
@overload
def zip(  # type: ignore[overload-overlap]
    a: DeviceOp[A], b: DeviceOp[B], c: DeviceOp[C], d: DeviceOp[D], f: DeviceOp[F], /
) -> DeviceOp[tuple[A, B, C, D, F]]: ...
@overload
def zip(  # type: ignore[overload-overlap]
    a: DeviceOp[A], b: DeviceOp[B], c: DeviceOp[C], d: DeviceOp[D], f: DeviceOp[F],
    g: DeviceOp[G], /
) -> DeviceOp[tuple[A, B, C, D, F, G]]: ...  # fmt: skip
@overload
def zip(a: P | DeviceOp[P], /) -> DeviceOp[tuple[P]]: ...
@overload
def zip(a: P | DeviceOp[P], b: Q | DeviceOp[Q], /) -> DeviceOp[tuple[P, Q]]: ...
@overload
def zip(
    a: P | DeviceOp[P], b: Q | DeviceOp[Q], c: S | DeviceOp[S], /
) -> DeviceOp[tuple[P, Q, S]]: ...
@overload
def zip(
    a: P | DeviceOp[P], b: Q | DeviceOp[Q], c: S | DeviceOp[S], d: V | DeviceOp[V], /
) -> DeviceOp[tuple[P, Q, S, V]]: ...
@overload
def zip(
    a: P | DeviceOp[P], b: Q | DeviceOp[Q], c: S | DeviceOp[S], d: V | DeviceOp[V],
    e: U | DeviceOp[U], /
) -> DeviceOp[tuple[P, Q, S, V, U]]: ...  # fmt: skip
@overload
def zip(
    a: P | DeviceOp[P], b: Q | DeviceOp[Q], c: S | DeviceOp[S], d: V | DeviceOp[V],
    e: U | DeviceOp[U], f: W | DeviceOp[W], /
) -> DeviceOp[tuple[P, Q, S, V, U, W]]: ...  # fmt: skip
@overload
def zip(
    a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, /, *more: Any
) -> DeviceOp[tuple[Any, ...]]: ...
def zip(*parts: Any) -> DeviceOp[Any]:
    """Return one op that runs all of these in order and gives the tuple of their results.

    A plain value is its own result; type checkers want `tw.value(x)` around objects that are not
    numbers, arrays, tensors or containers. No part may use what another part writes.
    """
    ops = tuple(as_op(part) for part in parts)
    name = "zip"
    _refuse_conflicts(ops)
    for op in ops:
        op.claim(name)
    made: Made[Any] = Made(name, ops, partial(zipped, ops))
    made.result_count = len(ops)
    return made


def _refuse_conflicts(ops: Sequence[DeviceOp[Any]]) -> None:
    """Raise if an op cannot run any more: one that was built after it has taken its memory."""
    try:
        for op in ops:
            for part in all_parts(op):
                part.check_standing()
    except Exception:
        for op in ops:
            op.mark_refused()
        raise
