"""Atomic read-modify-write: elements that share an address take their turns in row-major order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...base.dtypes import AnyDType
from ...ir.attrs import AtomicMode
from ...ir.core import Op
from . import floating
from .arithmetic import greatest, least
from .exact import Array
from .machine import Frame, Results, Rule
from .pointer import mask_of, pointee
from .storage import encode


def _add(dtype: AnyDType, old: Array, value: Array) -> Array:
    return floating.in_f32(np.add, dtype, [old, value])


def _max(dtype: AnyDType, old: Array, value: Array) -> Array:
    if dtype.is_float:
        return floating.in_f32(partial(greatest, nan=True), dtype, [old, value])
    return np.maximum(old, value)


def _min(dtype: AnyDType, old: Array, value: Array) -> Array:
    if dtype.is_float:
        return floating.in_f32(partial(least, nan=True), dtype, [old, value])
    return np.minimum(old, value)


Combine = Callable[[AnyDType, Array, Array], Array]

COMBINE: dict[AtomicMode, Combine] = {
    AtomicMode.ADD: _add,
    AtomicMode.AND: lambda dtype, old, value: np.bitwise_and(old, value),
    AtomicMode.OR: lambda dtype, old, value: np.bitwise_or(old, value),
    AtomicMode.XOR: lambda dtype, old, value: np.bitwise_xor(old, value),
    AtomicMode.MAX: _max,
    AtomicMode.MIN: _min,
    AtomicMode.XCHG: lambda dtype, old, value: value,
}
"""What each mode makes of the old element and the given one."""


def _atomic_rmw(frame: Frame, op: Op) -> Results:
    target = op.one("target")
    dtype, pointers, memory = pointee(target), frame.array(target), frame.launch.memory
    value = frame.array(op.one("value")).reshape(-1)
    combine = COMBINE[op.attrs["mode"]]
    old = memory.update(
        memory.watch.enter(op), pointers, mask_of(frame, op, pointers), dtype,
        lambda old, at: combine(dtype, old, value[at]),
    )  # fmt: skip
    return (old,)


def _atomic_cas(frame: Frame, op: Op) -> Results:
    target, compare = op.one("target"), frame.array(op.one("compare"))
    dtype, pointers, memory = pointee(target), frame.array(target), frame.launch.memory
    value, expected = frame.array(op.one("value")).reshape(-1), compare.reshape(-1)
    mask = mask_of(frame, op, pointers)

    def swap(old: Array, at: Array) -> Array:
        same = np.all(encode(old, dtype) == encode(expected[at], dtype), axis=1)
        return np.where(same, value[at], old)

    old = memory.update(memory.watch.enter(op), pointers, mask, dtype, swap)
    return (np.where(mask, old, compare),)


RULES: dict[str, Rule] = {"atomic_rmw": _atomic_rmw, "atomic_cas": _atomic_cas}
