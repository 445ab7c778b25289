"""Rules of the control family: only the unrolled range; the rest of control flow is syntax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import Code
from ..emit import Emitter


def static_range(em: Emitter, start: Any, stop: Any = None, step: Any = 1, /) -> range:
    """A range known while compiling; a loop over it is unrolled."""
    first, last = (0, start) if stop is None else (start, stop)
    bounds = [
        em.static_int(x, f"the {name} of static_range")
        for x, name in ((first, "start"), (last, "stop"), (step, "step"))
    ]
    if bounds[2] == 0:
        em.fail(Code.CALL, "the step of static_range is 0", expected="a step up or down")
    return range(*bounds)


RULES: dict[str, Callable[..., Any]] = {"static_range": static_range}
PROPERTIES: frozenset[str] = frozenset()
