"""Control flow beyond Python's own syntax: loops that are unrolled at compile time."""

from __future__ import annotations

from typing import overload

from .marker import declared


@overload
def static_range(stop: int, /) -> range: ...
@overload
def static_range(start: int, stop: int, step: int = 1, /) -> range: ...
@declared
def static_range(start: int, stop: int | None = None, step: int = 1, /) -> range:
    """Iterate like `range` in an unrolled loop: bounds and loop variable are constants.

    Use it where the body needs a constant, for instance to index a tuple. A plain `range` makes a
    loop of the kernel, which compiles faster and takes bounds that are known only at launch.
    """
    ...
