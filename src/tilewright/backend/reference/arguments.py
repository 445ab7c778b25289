"""Turns the arguments of a launch into the data of parameters and the memory they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from ...base.dtypes import round_tf32, tf32
from ...base.errors import ShapeError
from ...ir.core import Func, Value
from ...ir.types import TensorType, TileType
from .exact import Array
from .machine import Data, TensorData
from .storage import Member


def bind(func: Func, arguments: Sequence[Any]) -> tuple[dict[Value, Data], list[Member]]:
    """The data of each parameter, and the arrays among the arguments."""
    if len(arguments) != len(func.params):
        raise ShapeError(
            f"{func.name}: wrong number of arguments",
            expected=str(len(func.params)),
            got=str(len(arguments)),
        )
    data: dict[Value, Data] = {}
    members: list[Member] = []
    for spec, param, argument in zip(func.signature.params, func.params, arguments, strict=True):
        data[param] = _datum(spec.name, param, argument)
        if _is_array(argument) and not _is_scalar(param):
            members.append(Member(spec.name, argument))
    return data, members


def _is_array(argument: object) -> TypeGuard[Array]:
    return isinstance(argument, np.ndarray)


def _is_scalar(param: Value) -> bool:
    return isinstance(param.type, TileType) and not param.type.is_pointer


def _datum(name: str, param: Value, argument: Any) -> Data:
    if isinstance(param.type, TensorType):
        return _tensor(name, param.type, argument)
    if _is_scalar(param):
        return _scalar(param.tile, argument)
    # An array given for a pointer stands for the address of its first element.
    address = argument.ctypes.data if _is_array(argument) else int(argument)
    return np.asarray(address, np.int64)


def _scalar(kind: TileType, argument: Any) -> Array:
    scalar = np.asarray(argument, kind.dtype.np).reshape(())
    return round_tf32(scalar) if kind.dtype is tf32 else scalar


def _tensor(name: str, kind: TensorType, argument: Any) -> TensorData:
    if not _is_array(argument):
        raise ShapeError(f"{name}: expected an array", got=type(argument).__name__)
    _need(argument.dtype == kind.dtype.np, name, f"elements {kind.dtype.np}", f"{argument.dtype}")
    _need(_fits(kind, argument), name, str(kind), _show(argument))
    _need(argument.flags.writeable or not kind.mutable, name, "a writable array", "a read-only one")
    return TensorData(argument.ctypes.data, argument.shape, argument.strides)


def _fits(kind: TensorType, array: Array) -> bool:
    """Whether an array has the rank, the static extents and the static strides of a type."""
    if array.ndim != kind.rank:
        return False
    extents = zip(array.shape, kind.shape, strict=True)
    # NumPy gives any stride to an axis that is never walked along.
    walked = zip(array.shape, array.strides, kind.strides, strict=True) if array.size else ()
    return all(known in (None, n) for n, known in extents) and all(
        n == 1 or known is None or known * array.itemsize == stride for n, stride, known in walked
    )


def _show(array: Array) -> str:
    return f"shape {array.shape}, strides {array.strides} bytes"


def _need(ok: bool, name: str, expected: str, got: str) -> None:
    if not ok:
        raise ShapeError(f"argument {name} does not fit its parameter", expected=expected, got=got)
