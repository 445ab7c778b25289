"""The launch stub as functions of Python, compiled at first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...base.forking import made_once
from ..cpu.calling import Kind, Signature
from ..cpu.runtime.calls import callables
from .text import TEXT

_BYTES, _ADDRESS, _NUMBER, _OBJECT = Kind.BYTES, Kind.ADDRESS, Kind.NUMBER, Kind.OBJECT

SIGNATURES: dict[str, Signature] = {
    "bind": Signature((_ADDRESS, _OBJECT, _OBJECT), gives=_OBJECT),
    "exclude": Signature((_ADDRESS, _OBJECT, _OBJECT, _OBJECT), gives=_OBJECT),
    "claim": Signature((_ADDRESS, _NUMBER, _NUMBER, _ADDRESS)),
    "reserve": Signature((_BYTES, _NUMBER, _NUMBER, _ADDRESS, _NUMBER)),
    "address": Signature((_BYTES, _NUMBER, _ADDRESS, _ADDRESS)),
    "put": Signature((_ADDRESS,)),
    "pass": Signature((_ADDRESS, _NUMBER)),
    "settle": Signature((_ADDRESS,)),
}


class Stub(NamedTuple):
    """What the functions do stands with their texts."""

    bind: Callable[[int, tuple[Any, ...], int], tuple[Any, ...] | None]
    exclude: Callable[[int, bytes, str, int], Any]
    claim: Callable[[int, int, int, int], int]
    reserve: Callable[[bytes, int, int, int, int], int]
    address: Callable[[bytes, int, int, int], int]
    put: Callable[[int], int]
    passed: Callable[[int, int], int]
    settle: Callable[[int], int]


@made_once
def stub() -> Stub:
    """All of them."""
    return Stub(*callables(TEXT, SIGNATURES, optimize=False).values())
