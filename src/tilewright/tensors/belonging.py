"""Whether what is given to an op belongs to it, or to somebody who may go on using it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

from .ownership import Handle
from .partition import Partition


def is_borrowed(value: object, references: int) -> bool:
    """Return whether an op only borrows a tensor or partition.

    It owns one that was moved or partitioned for the op, or that only the op refers to,
    `references` times.
    """
    if _is_partition(value):
        return not value.is_owned
    if not isinstance(value, Handle):
        return False
    # This function and the one it calls refer to it as well.
    held_elsewhere = sys.getrefcount(value) > references + 2
    return value.ticket is not None or (held_elsewhere and not value.was_handed_over)


def is_among(value: object, given: Sequence[object]) -> bool:
    """Return whether a tensor is one of these, or belongs to one of these."""
    return any(value is each or (_is_partition(each) and each.tensor is value) for each in given)


def _is_partition(x: object) -> TypeGuard[Partition[Any]]:
    return isinstance(x, Partition)
