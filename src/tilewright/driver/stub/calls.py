"""The launch stub as functions of Python, compiled at first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..cpu.calling import Kind, Signature
from ..cpu.runtime.calls import callables
from .text import TEXT

_BYTES, _ADDRESS, _NUMBER = Kind.BYTES, Kind.ADDRESS, Kind.NUMBER

SIGNATURES: dict[str, Signature] = {
    "share": Signature((_BYTES, _NUMBER, _NUMBER, _ADDRESS)),
    "reserve": Signature((_BYTES, _NUMBER, _NUMBER, _BYTES, _ADDRESS)),
    "address": Signature((_BYTES, _NUMBER, _ADDRESS, _ADDRESS)),
}


@dataclass(frozen=True, slots=True)
class Stub:
    """What the functions do stands with their texts."""

    share: Callable[[bytes, int, int, int], int]
    reserve: Callable[[bytes, int, int, bytes, int], int]
    address: Callable[[bytes, int, int, int], int]


@cache
def stub() -> Stub:
    """All of them."""
    return Stub(**callables(TEXT, SIGNATURES, optimize=False))
