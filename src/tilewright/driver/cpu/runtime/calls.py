"""The compiled functions of the native half as Python callables: addresses and numbers in."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from ....base.forking import llvm_lock
from ..native import NativeFunction, initialize, link, llvm
from . import common, moving, queueing, running, serving, waiting

ADDRESS, NUMBER = ctypes.c_void_p, ctypes.c_int64


@dataclass(frozen=True, slots=True)
class Calls:
    """What the functions do stands with their texts."""

    start: Callable[[int], None]
    stop: Callable[[int], None]
    serve: Callable[[int], None]
    put: Callable[[int, int], int]
    put_wait: Callable[[int, int, int], int]
    inline: Callable[[int, int, int, int], int]
    resume: Callable[[int, int, int, int], int]
    cancel: Callable[[int], None]
    wait: Callable[[int, int, int], int]
    alert: Callable[[int, int], int]
    poke: Callable[[int], int]
    listen: Callable[[int, int, int], int]


SIGNATURES: dict[str, tuple[bool, Any, tuple[Any, ...]]] = {
    "start": (False, None, (ADDRESS,)),
    "stop": (True, None, (ADDRESS,)),
    "serve": (True, None, (ADDRESS,)),
    "put": (False, NUMBER, (ADDRESS, ADDRESS)),
    "put_wait": (False, NUMBER, (ADDRESS, ADDRESS, NUMBER)),
    "inline": (True, NUMBER, (ADDRESS, ADDRESS, ADDRESS, NUMBER)),
    "resume": (True, NUMBER, (ADDRESS, ADDRESS, ADDRESS, NUMBER)),
    "cancel": (True, None, (ADDRESS,)),
    "wait": (True, NUMBER, (ADDRESS, NUMBER, NUMBER)),
    "alert": (False, NUMBER, (ADDRESS, NUMBER)),
    "poke": (False, NUMBER, (ADDRESS,)),
    "listen": (True, NUMBER, (ADDRESS, NUMBER, NUMBER)),
}
"""Whether the interpreter lock is given up (else it is too short for that), result, arguments."""


def text() -> str:
    """The whole module, for this machine."""
    roles = (moving, running, queueing, waiting, serving)
    return "".join((common.text(), *(role.TEXT for role in roles)))


def compiled(text: str, symbols: tuple[str, ...], *, optimize: bool) -> dict[str, NativeFunction]:
    """Functions of a text, compiled for this machine."""
    with llvm_lock():
        return _compiled(text, symbols, optimize=optimize)


def _compiled(text: str, symbols: tuple[str, ...], *, optimize: bool) -> dict[str, NativeFunction]:
    initialize()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name() if optimize else "", opt=2 if optimize else 0
    )
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.verify()
    return link(machine.emit_object(module), symbols)


@cache
def functions() -> dict[str, NativeFunction]:
    """The compiled functions; compiled at the first call."""
    # Optimizing would save nothing that can be measured, and cost 30 ms in every process.
    return compiled(text(), tuple(f"tw_{name}" for name in SIGNATURES), optimize=False)


def calls() -> Calls:
    """All of them; the code stays in memory for good."""
    return Calls(**{name: _callable(name, *SIGNATURES[name]) for name in SIGNATURES})


def _callable(name: str, releases: bool, result: Any, arguments: tuple[Any, ...]) -> Any:
    prototype = ctypes.CFUNCTYPE if releases else ctypes.PYFUNCTYPE
    return prototype(result, *arguments)(functions()[f"tw_{name}"].address)
