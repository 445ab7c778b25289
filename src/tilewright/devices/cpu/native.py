"""Loads object files into this process: bytes and a symbol in, a callable address out.

The address is good as long as the `NativeFunction` lives: it keeps the code mapped.
"""

from __future__ import annotations

import itertools
import platform
import sys
from typing import Any

from ...base.llvm import llvm
from ...base.shield import llvm_lock, made_once, shielded
from ..protocol import RefusedCodeError

MAGIC = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe"}
"""How object files begin, by platform."""
ELF_MACHINE = {"x86_64": 62, "aarch64": 183}
"""The number of each processor in an ELF header (at byte 18)."""

_numbers = itertools.count(1)


class NativeFunction:
    """Native code in this process; holds what keeps it there."""

    __slots__ = ("__weakref__", "_code", "_engine", "address", "symbol")

    def __init__(self, symbol: str, address: int, code: Any, engine: Any) -> None:
        self.symbol = symbol
        self.address = address
        self._code = code
        self._engine = engine

    def __repr__(self) -> str:
        return f"NativeFunction({self.symbol!r})"


def load(object_bytes: bytes, symbol: str) -> NativeFunction:
    """Link an object file made for this machine and find a function in it."""
    return link(object_bytes, (symbol,))[symbol]


def link(object_bytes: bytes, symbols: tuple[str, ...]) -> dict[str, NativeFunction]:
    """Link an object file and find several functions in it."""
    check_format(object_bytes)
    with llvm_lock():
        return shielded(_linked, object_bytes, symbols)


def _linked(object_bytes: bytes, symbols: tuple[str, ...]) -> dict[str, NativeFunction]:
    engine = _engine()
    builder = llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    try:
        code = builder.link(engine, f"kernel{next(_numbers)}")
    except RuntimeError as error:
        raise RefusedCodeError(
            f"native code cannot be loaded: {error}",
            expected=f"an object file that defines {', '.join(symbols)}",
        ) from None
    return {symbol: NativeFunction(symbol, code[symbol], code, engine) for symbol in symbols}


def check_format(object_bytes: bytes) -> None:
    """Refuse code of another platform, which could crash the process."""
    machine = platform.machine()
    magic = MAGIC.get(sys.platform)
    known = magic is not None and object_bytes[:4] == magic
    if known and sys.platform == "linux":
        known = int.from_bytes(object_bytes[18:20], sys.byteorder) == ELF_MACHINE.get(machine)
    if not known:
        raise RefusedCodeError(
            "native code cannot be loaded: not an object file of this machine",
            expected=f"an object file for {sys.platform} on {machine}",
            got=f"{len(object_bytes)} bytes that begin with {object_bytes[:4]!r}",
        )


@made_once
def _engine() -> Any:
    """Create the JIT engine with JITLink, which maps an object file as one piece of memory.

    LLVM's older linker allocates each section separately. In a process with large arrays these are
    gigabytes apart, which it does not support: it aborts.
    """
    initialize()
    return llvm.create_lljit_compiler(suppress_errors=True, use_jit_link=True)


@made_once
def initialize() -> None:
    """Initialize LLVM for this machine; only the first call does anything."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
