"""Refuses what an architecture does not have, before its assembler would, and with the place."""

from __future__ import annotations

from collections.abc import Iterator

from ...base.dtypes import AnyDType
from ...base.errors import Code, CompileError
from ...ir.core import Func, Op, Value
from ...ir.types import PtrType, TensorType, TileType, ViewType
from .target import DTYPES_SINCE, TileTarget


def refuse_unknown(func: Func, target: TileTarget) -> None:
    """Raise for an element type that a target does not have."""
    for op, value in _values(func):
        dtype = _dtype(value)
        since = DTYPES_SINCE.get(dtype, 0) if dtype is not None else 0
        if dtype is not None and since > target.number:
            raise CompileError(
                f"{target.arch} has no {dtype.name}",
                expected=f"sm_{since} or newer, or another element type",
                got=target.arch,
                hint="convert on the host, or run on the CPU, which has all element types",
                span=op.span if op is not None else None,
                code=Code.TARGET,
            )


def _values(func: Func) -> Iterator[tuple[Op | None, Value]]:
    yield from ((None, param) for param in func.params)
    for op in func.walk():
        yield from ((op, result) for result in op.results)


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
