"""Tells apart compile-time constants that Python calls equal: True, 1 and 1.0, or 0.0 and -0.0."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import copysign
from typing import TypeGuard

import numpy as np

WHOLLY_VALUES = frozenset({int, bool, str})
"""Types of most constants, which are nothing besides their values."""


def constant_kind(constant: object) -> object:
    """What a constant is besides its value: its type, its sign, and the same of its parts.

    >>> constant_kind((1, 0.0)) == constant_kind((1, -0.0)), constant_kind(2) == constant_kind(3)
    (False, True)
    """
    kind = type(constant)
    if kind in WHOLLY_VALUES:
        return kind
    if _is_scalar(constant):
        return type(constant), constant.tobytes()
    if isinstance(constant, float):
        return type(constant), copysign(1.0, constant)
    if _is_tuple(constant):
        return type(constant), *map(constant_kind, constant)
    if is_dataclass(constant) and not isinstance(constant, type):
        parts = [constant_kind(getattr(constant, f.name)) for f in fields(constant)]
        return type(constant), *parts
    return type(constant)


def _is_scalar(value: object) -> TypeGuard[np.generic[object]]:
    return isinstance(value, np.generic)


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)
