"""What the words of kernels need of the host, which they do not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Host:
    """Set where the package puts its halves together."""

    memory: ClassVar[Callable[..., Any]]
    """Makes the memory of a global: of a type, with initial values, in a shape."""
