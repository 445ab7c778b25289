"""Rejects what an architecture does not have, before its assembler does, with the location."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ...base.dtypes import AnyDType
from ...base.errors import Code, CompileError
from ...base.source import Span
from ...ir.core import Func, Value
from ...ir.types import PtrType, TensorType, TileType, ViewType
from .target import DTYPES_SINCE, OPS_SINCE, TileTarget


def refuse_unknown(func: Func, target: TileTarget) -> None:
    """Raise for an operation or an element type that a target does not have."""
    for op in func.walk():
        since, what = OPS_SINCE.get(op.name, (0, ""))
        if since > target.number:
            _refuse(target, what, since, op.span)
    for what, span, value in _values(func):
        dtype = _dtype(value)
        since = DTYPES_SINCE.get(dtype, 0) if dtype is not None else 0
        if dtype is not None and since > target.number:
            _refuse(target, f"{dtype.name}{what}", since, span)


def _refuse(target: TileTarget, what: str, since: int, span: Span | None) -> NoReturn:
    raise CompileError(
        f"{target.arch} has no {what}",
        expected=f"sm_{since} or newer, or another element type",
        got=target.arch,
        hint="convert on the host, or run on the CPU, which has all element types",
        span=span,
        code=Code.TARGET,
    )


def _values(func: Func) -> Iterator[tuple[str, Span | None, Value]]:
    """Yield all values; those of ops first, for they have places."""
    for op in func.walk():
        yield from (("", op.span, result) for result in op.results)
    for spec, param in zip(func.signature.params, func.params, strict=True):
        yield f", the element type of `{spec.name}` of `{func.name}`", None, param


def _dtype(value: Value) -> AnyDType | None:
    match value.type:
        case TileType():
            elem = value.type.elem
            return elem.to if isinstance(elem, PtrType) else elem
        case TensorType():
            return value.type.dtype
        case ViewType():
            return value.type.tensor.dtype
        case _:
            return None
