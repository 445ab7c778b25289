"""Rules of the assembly family: PTX as it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...base.dtypes import AnyDType
from ...base.errors import Code
from ...ir.core import Value
from ..describe import describe
from ..emit import Emitter
from ..operands import parts

PLACE = re.compile(r"\$(\d+|\$)?")
BITS = (16, 32, 64)


def inline_ptx(em: Emitter, text: Any, *values: Any, result: Any = None) -> Any:
    """PTX in place; what it gives."""
    em.require_threads("simt.inline_ptx()")
    em.require_unsafe("`simt.inline_ptx`")
    if not isinstance(text, str):
        em.fail(Code.NOT_STATIC, "PTX must be a constant text", got=describe(text))
    dtypes = () if result is None else tuple(em.static_dtype(t) for t in parts(result))
    given = [_value(em, value) for value in values]
    for dtype in dtypes:
        _accept(em, dtype)
    _check_places(em, text, len(dtypes) + len(given))
    made = em.op("inline_ptx", given, text=text, dtypes=dtypes).results
    return made if isinstance(result, tuple | list) else made[0] if made else None


def _value(em: Emitter, x: Any) -> Value:
    value = em.numbers(x, "a value")
    _accept(em, value.tile.dtype)
    return value


def _accept(em: Emitter, dtype: AnyDType) -> None:
    if dtype.is_bool or dtype.bits not in BITS:
        em.fail(
            Code.DTYPE,
            f"inline PTX has no register class for {dtype.name}",
            expected="numbers of 16, 32 or 64 bits",
            got=dtype.name,
            hint="convert it: tilewright.i32(...)",
        )


def _check_places(em: Emitter, text: str, count: int) -> None:
    """Refuse what the assembler would not find."""
    for found in PLACE.finditer(text):
        number = found.group(1)
        if number is None or (number != "$" and int(number) >= count):
            em.fail(
                Code.CALL,
                f"`{found.group()}` in this PTX refers to no operand",
                expected=f"$0 to ${count - 1}, results first" if count else "no operands",
                got=found.group(),
                hint="write $$ for a dollar",
            )


RULES: dict[str, Callable[..., Any]] = {"inline_ptx": inline_ptx}
PROPERTIES: frozenset[str] = frozenset()
