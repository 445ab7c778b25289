"""Functions that XLA calls by its C interface, written in Python: what it passes, what it is told.

The structures are those of XLA's `ffi/api/c_api.h`, of which only fields are read that have been
there since its first version; newer versions add behind them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

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
NUMBERS: dict[AnyDType, Any] = {
    bool_: ctypes.c_bool, i32: ctypes.c_int32, i64: ctypes.c_int64,
    f32: ctypes.c_float, f64: ctypes.c_double,
}  # fmt: skip
"""How attributes of these types are read."""


def _struct(name: str, **fields: Any) -> Any:
    """A structure that begins as all of XLA's do."""
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

HANDLER: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_CALL: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Buffer(NamedTuple):
    """An array of XLA's: elements in a row."""

    dtype: AnyDType
    shape: Shape
    address: int


class Frame:
    """One call: its arrays, its numbers, and the stream it belongs to."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def arguments(self) -> list[Buffer]:
        """The arrays that are read."""
        return _buffers(self._frame.arguments)

    @property
    def results(self) -> list[Buffer]:
        """The arrays that are written."""
        return _buffers(self._frame.results)

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that were known when the call was compiled, by name."""
        given = self._frame.attributes
        return {
            _text(given.names[i]): _number(given.items[i])
            for i in range(given.size)
            if given.types[i] == SCALAR
        }

    def stream(self) -> int:
        """The stream of a GPU that the call belongs to."""
        asked = _Stream(ctypes.sizeof(_Stream), None, self._frame.context, None)
        api = _Api.from_address(self._frame.api)
        if _CALL(api.get_stream)(ctypes.addressof(asked)):
            raise RuntimeError("XLA does not say on which stream it calls")
        return asked.stream or 0

    def error(self, message: str) -> Any:
        """What a handler gives back when it has failed."""
        api = _Api.from_address(self._frame.api)
        made = _NewError(ctypes.sizeof(_NewError), None, message.encode(), UNKNOWN_ERROR)
        return _CALL(api.create_error)(ctypes.addressof(made))


Call: TypeAlias = Callable[[Frame], None]


def handler(call: Call, version: Sequence[int]) -> Any:
    """A function of C that XLA can call; it must be kept. `version` is that of the interface."""

    def run(address: int) -> Any:
        frame = _Frame.from_address(address)
        if frame.extension and _Extension.from_address(frame.extension).type == METADATA:
            _say_version(_Extension.from_address(frame.extension).metadata, version)
            return None
        if frame.stage != EXECUTE:
            return None
        seen = Frame(frame)
        try:
            call(seen)
        except Exception as error:  # it cannot pass through XLA, which raises it for us
            return seen.error(f"{type(error).__name__}: {error}")
        return None

    return HANDLER(run)


def _say_version(metadata: int, version: Sequence[int]) -> None:
    """The first field of the answer is its size; the version follows."""
    known = _Version.from_address(metadata + ctypes.sizeof(ctypes.c_size_t))
    known.major, known.minor = version


def _buffers(given: Any) -> list[Buffer]:
    found = [_Buffer.from_address(given.items[i]) for i in range(given.size)]
    return [
        Buffer(DTYPES[each.dtype], tuple(each.dims[: each.rank]), each.data or 0) for each in found
    ]


def _text(address: int) -> str:
    span = _Span.from_address(address)
    return ctypes.string_at(span.text, span.length).decode()


def _number(address: int) -> Any:
    scalar = _Scalar.from_address(address)
    return NUMBERS[DTYPES[scalar.dtype]].from_address(scalar.value).value
