"""Single elements of memory: whether they are inside, what is stored to them, their updates."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import AnyDType
from ..base.errors import Code
from ..ir import Value
from . import promote
from .emit import Emitter, describe
from .values import SliceRef


def stored_element(em: Emitter, name: str, dtype: AnyDType, value: Any) -> Value:
    """A number that may be stored as it is."""
    number = em.number(value, dtype) if promote.is_weak(value) else em.numbers(value, "value")
    if number.tile.dtype is not dtype:
        em.fail(
            Code.DTYPE,
            f"what is stored to `{name}` must have its element type",
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
