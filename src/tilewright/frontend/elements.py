"""What is stored to single elements of memory."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import AnyDType
from ..base.errors import Code
from ..ir import Value
from . import promote
from .emit import Emitter, describe


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
