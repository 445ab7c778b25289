"""Single elements of memory: whether they are inside, what is stored to them, their updates."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import AnyDType, i32
from ..base.errors import Code
from ..ir.core import Value
from . import promote
from .describe import describe
from .emit import Emitter
from .values import RunRef, RunsRef, SliceRef


def stored_element(em: Emitter, name: str, dtype: AnyDType, value: Any) -> Value:
    """A number that may be stored as it is."""
    number = em.number(value, dtype) if promote.is_weak(value) else em.numbers(value, "value")
    if number.tile.rank:
        em.fail(
            Code.SHAPE,
            f"an element of `{name}` is a scalar",
            expected=f"a scalar {dtype.name}",
            got=describe(number),
            hint="a thread computes with scalars, one element at a time",
        )
    if number.tile.dtype is not dtype:
        em.fail(
            Code.DTYPE,
            f"a value stored to `{name}` must have its element type",
            expected=dtype.name,
            got=describe(number),
            hint=f"convert it: tilewright.{dtype.__name__}(...)",
        )
    return number


def inside(em: Emitter, ref: SliceRef, index: Value) -> Value:
    """Whether an index lies in a slice; a launch in which it does not fails."""
    length = em.emit("length", ref.value)
    return em.emit("check_index", index, length, slice=ref.name)


def pointer_of(em: Emitter, ref: SliceRef, index: Value) -> tuple[Value, Value]:
    """The address of an element, and whether there is one."""
    return em.emit("slice_pointer", ref.value, index), inside(em, ref, index)


def runs_in(em: Emitter, ref: RunsRef) -> Value:
    """How many whole runs a slice has."""
    length = em.emit("length", ref.slice.value)
    return em.emit("divi", length, em.number(ref.size, i32))


def run_at(em: Emitter, ref: RunsRef, index: Value) -> RunRef:
    """A run by its number, which is looked at once for all of its elements."""
    there = em.emit("check_index", index, runs_in(em, ref), slice=ref.name)
    return RunRef(ref, em.emit("muli", index, em.number(ref.size, i32)), there)


def place_in_run(em: Emitter, ref: RunRef, index: Any) -> tuple[Value, Value]:
    """An element of a run: its index in the slice, and whether it is there."""
    size = ref.runs.size
    if isinstance(index, int) and not 0 <= index < size:
        em.fail(
            Code.INDEX,
            f"{describe(ref)} has no element {index}",
            expected=f"0 to {size - 1}",
            got=str(index),
        )
    at = em.index(index, f"an index of `{ref.name}`")
    there = ref.there
    if not isinstance(index, int):
        inner = em.emit("check_index", at, em.number(size, i32), slice=ref.name)
        there = em.emit("andi", there, inner)
    return em.emit("addi", ref.start, at), there
