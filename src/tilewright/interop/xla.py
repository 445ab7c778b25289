"""Functions that XLA calls by its C interface, written in Python: arguments, results and errors.

The structures are those of XLA's `ffi/api/c_api.h`, of which only fields are read that have been
there since its first version; newer versions add behind them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import string_at
from struct import unpack
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._core import XlaHandler
from ..base.dtypes import (
    AnyDType,
    bf16,
    bool_,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from ..base.shapes import Shape

METADATA = 1
"""The extension by which XLA asks which version of the interface a handler knows."""
EXECUTE = 3
"""The stage in which a handler runs."""
SCALAR = 3
"""The kind of attributes that are one number."""
UNKNOWN_ERROR = 2

DTYPES: dict[int, AnyDType] = {
    1: bool_, 2: i8, 3: i16, 4: i32, 5: i64, 6: u8, 7: u16, 8: u32, 9: u64,
    10: f16, 11: f32, 12: f64, 16: bf16, 19: f8e5m2, 20: f8e4m3fn, 33: f8e8m0fnu,
}  # fmt: skip
"""XLA's numbers of element types."""


def _struct(name: str, **fields: Any) -> Any:
    """Return a structure that begins as all of XLA's do."""
    head = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p)]
    return type(name, (ctypes.Structure,), {"_fields_": [*head, *fields.items()]})


_Extension: Any = type(
    "Extension",
    (ctypes.Structure,),
    {
        "_fields_": [
            ("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p),
            ("metadata", ctypes.c_void_p),
        ]
    },
)  # fmt: skip
_Version: Any = _struct("Version", major=ctypes.c_int, minor=ctypes.c_int)
_Buffer: Any = _struct(
    "Buffer", dtype=ctypes.c_int, data=ctypes.c_void_p, rank=ctypes.c_int64,
    dims=ctypes.POINTER(ctypes.c_int64),
)  # fmt: skip
_Pointers: Any = ctypes.POINTER(ctypes.c_void_p)
_Buffers: Any = _struct("Buffers", size=ctypes.c_int64, types=ctypes.c_void_p, items=_Pointers)
_Attributes: Any = _struct(
    "Attributes", size=ctypes.c_int64, types=ctypes.POINTER(ctypes.c_int), names=_Pointers,
    items=_Pointers,
)  # fmt: skip
_Frame: Any = _struct(
    "Frame", api=ctypes.c_void_p, context=ctypes.c_void_p, stage=ctypes.c_int, arguments=_Buffers,
    results=_Buffers, attributes=_Attributes,
)  # fmt: skip
_Api: Any = _struct(
    "Api", version=_Version, internal=ctypes.c_void_p, create_error=ctypes.c_void_p,
    get_message=ctypes.c_void_p, destroy_error=ctypes.c_void_p, register=ctypes.c_void_p,
    get_stream=ctypes.c_void_p,
)  # fmt: skip
_NewError: Any = _struct("NewError", message=ctypes.c_char_p, code=ctypes.c_int)
_Stream: Any = _struct("Stream", context=ctypes.c_void_p, stream=ctypes.c_void_p)
_Span: Any = type(
    "Span",
    (ctypes.Structure,),
    {"_fields_": [("text", ctypes.c_void_p), ("length", ctypes.c_size_t)]},
)
_Scalar: Any = type(
    "Scalar",
    (ctypes.Structure,),
    {"_fields_": [("dtype", ctypes.c_int), ("value", ctypes.c_void_p)]},
)

ARGUMENTS, RESULTS = _Frame.arguments.offset // 8, _Frame.results.offset // 8
ATTRIBUTES, STAGE = _Frame.attributes.offset // 8, _Frame.stage.offset // 8
API, CONTEXT = _Frame.api.offset // 8, _Frame.context.offset // 8
EXTENSION: int = _Frame.extension.offset // 8
FRAME_WORDS, BUFFER_WORDS = ctypes.sizeof(_Frame) // 8, ctypes.sizeof(_Buffer) // 8
"""The offsets of the fields of a frame; reading them by name would take ten times as long."""
SIZE = _Buffers.size.offset // 8
"""The offset of the length of a list of arrays, or of attributes; the list follows."""
LOW = 0xFFFFFFFF
"""The half of a word that a small field has."""

_CALL: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Buffer(NamedTuple):
    """An array of XLA's: elements in a row."""

    dtype: AnyDType
    shape: Shape
    address: int


class Frame:
    """One call: its arrays, its numbers, and the stream it belongs to."""

    __slots__ = ("_words",)

    def __init__(self, words: Sequence[int]) -> None:
        self._words = words

    @property
    def arguments(self) -> list[Buffer]:
        """The arrays that are read."""
        return _buffers(self._words, ARGUMENTS)

    @property
    def results(self) -> list[Buffer]:
        """The arrays that are written."""
        return _buffers(self._words, RESULTS)

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that were known when the call was compiled, by name."""
        count, kinds, names, items = self._words[ATTRIBUTES + SIZE : ATTRIBUTES + SIZE + 4]
        if not count:
            return {}
        scalars = [kind == SCALAR for kind in unpack(f"{count}i", string_at(kinds, 4 * count))]
        found = zip(scalars, _read(names, count), _read(items, count), strict=True)
        return {_text(name): _number(item) for is_scalar, name, item in found if is_scalar}

    def stream(self) -> int:
        """Return the GPU stream of the call."""
        asked = _Stream(ctypes.sizeof(_Stream), None, self._words[CONTEXT], None)
        api = _Api.from_address(self._words[API])
        if _CALL(api.get_stream)(ctypes.addressof(asked)):
            raise RuntimeError("XLA does not say on which stream it calls")
        return asked.stream or 0

    def error(self, message: str) -> int:
        """Return the result of a handler that has failed."""
        api = _Api.from_address(self._words[API])
        made = _NewError(
            ctypes.sizeof(_NewError), None, message.encode(errors="replace"), UNKNOWN_ERROR
        )
        found: int | None = _CALL(api.create_error)(ctypes.addressof(made))
        return found or 0


Call: TypeAlias = Callable[[Frame], None]


def handler(call: Call, version: Sequence[int]) -> Any:
    """Return a function of C for XLA, to be kept as long as XLA may call it; `version` is that of
    the interface.

    An interrupt that leaves it is reported to XLA as a failure, and raised when XLA has returned.
    """

    def run(address: int) -> int:
        return _answer(call, version, _read(address, FRAME_WORDS))

    return _CALL(XlaHandler(run))


def _answer(call: Call, version: Sequence[int], words: Sequence[int]) -> int:
    """Run a call; gives XLA's error, or 0."""
    extension = words[EXTENSION]
    if extension and _Extension.from_address(extension).type == METADATA:
        _say_version(_Extension.from_address(extension).metadata, version)
    elif words[STAGE] & LOW == EXECUTE:
        seen = Frame(words)
        try:
            call(seen)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it cannot pass through XLA, which raises it for us
            return seen.error(f"{type(error).__name__}: {error}")
    return 0


def _say_version(metadata: int, version: Sequence[int]) -> None:
    """Write the version, which follows the size of the answer."""
    known = _Version.from_address(metadata + ctypes.sizeof(ctypes.c_size_t))
    known.major, known.minor = version


def _read(address: int, count: int) -> tuple[int, ...]:
    """Read `count` words of memory."""
    return unpack(f"{count}q", string_at(address, 8 * count))


def _buffers(words: Sequence[int], at: int) -> list[Buffer]:
    count, _, items = words[at + SIZE : at + SIZE + 3]
    return [_buffer(item) for item in _read(items, count)] if count else []


def _buffer(address: int) -> Buffer:
    _, _, dtype, data, rank, dims = _read(address, BUFFER_WORDS)
    return Buffer(DTYPES[dtype & LOW], _read(dims, rank) if rank else (), data)


def _text(address: int) -> str:
    text, length = _read(address, 2)
    return string_at(text, length).decode()


def _number(address: int) -> Any:
    dtype, value = _read(address, 2)
    return number_at(DTYPES[dtype & LOW], value)


def number_at(dtype: AnyDType, address: int) -> Any:
    """Return a number in memory of the host."""
    return np.frombuffer(string_at(address, dtype.itemsize), dtype.np)[0].item()
