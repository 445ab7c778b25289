"""The hooks through which kernel functions use the host without importing it.

They are apart from `lang`, which an import of the package must not load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Host:
    """The hooks of the host; the package sets them when it connects its halves."""

    memory: ClassVar[Callable[..., Any]]
    """Makes the memory of a global: of a type, with initial values, in a shape."""
