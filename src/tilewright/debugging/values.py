"""What a debugger shows for values of the interpreter: NumPy arrays that cannot be written."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..backend.reference.machine import Data, Frame, TensorData
from ..ir.attrs import OperandRef, Scene
from ..ir.core import Op, Value
from ..ir.types import TensorType, TileType


def shown(frame: Frame, op: Op) -> dict[str, Any]:
    """Return the names of an event with their values."""
    scene: Scene = op.attrs["scene"]
    values = [(value, frame.values[value]) for value in op.operands]
    pairs = zip(scene.names, scene.trees, strict=True)
    return {name: _filled(frame, tree, values) for name, tree in pairs}


def _filled(frame: Frame, tree: Any, values: Sequence[tuple[Value, Data]]) -> Any:
    if isinstance(tree, OperandRef):
        return _value(frame, *values[tree.number], tree)
    if isinstance(tree, tuple | list):
        return _sequence(tree, [_filled(frame, part, values) for part in cast("list[Any]", tree)])
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type) and _has_operand(tree):
        kind: type[Any] = type(tree)
        copy: Any = object.__new__(kind)
        for field in dataclasses.fields(tree):
            object.__setattr__(copy, field.name, _filled(frame, getattr(tree, field.name), values))
        return copy
    return tree


def _sequence(tree: Any, parts: list[Any]) -> Any:
    """Return parts as a NamedTuple, a list or a tuple, whichever the tree is."""
    if hasattr(tree, "_fields"):
        kind = cast("Any", type(tree))
        return kind(*parts)
    return parts if isinstance(tree, list) else tuple(parts)


def _has_operand(tree: Any) -> bool:
    return any(isinstance(getattr(tree, field.name, None), OperandRef | tuple | list)
               for field in dataclasses.fields(tree))  # fmt: skip


def _value(frame: Frame, value: Value, data: Data, operand: OperandRef) -> Any:
    if isinstance(value.type, TileType) and isinstance(data, np.ndarray):
        copy = np.array(data)
        copy.flags.writeable = False
        return copy[()]
    if isinstance(value.type, TensorType) and isinstance(data, TensorData):
        return _memory(frame, value.type, data, operand.tile)
    return None


def _memory(frame: Frame, kind: TensorType, data: TensorData, tile: tuple[int, ...] | None) -> Any:
    """Return the memory of a tensor; of an output, the part that the block owns."""
    if 0 in data.extents:
        return np.zeros(data.extents, kind.dtype.np)
    low = sum(min((n - 1) * s, 0) for n, s in zip(data.extents, data.strides, strict=True))
    high = sum(max((n - 1) * s, 0) for n, s in zip(data.extents, data.strides, strict=True))
    span = high - low + kind.dtype.itemsize
    raw: Any = (ctypes.c_char * span).from_address(data.address + low)
    whole = np.ndarray(data.extents, kind.dtype.np, raw, -low, data.strides)
    whole.flags.writeable = False
    if tile is None or frame.thread is not None:
        return whole
    place = zip(frame.block, tile, strict=False)
    return whole[tuple(slice(i * n, (i + 1) * n) for i, n in place)]
