"""Arrays whose library exports them by functions of C: DLPack's exchange API, as PyTorch has it."""

from __future__ import annotations

import ctypes
from typing import Any

NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
TABLE = b"dlpack_exchange_api"
# Functions of their own: what `pythonapi` has by name is shared, and others set its types.
_pointer_in: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_rename: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)
_new_capsule: Any = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))

Place = ctypes.POINTER(ctypes.c_void_p)
Export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, Place)
CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, Place)


class Table(ctypes.Structure):
    """The functions, as DLPack 1.3 lays them out."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export", Export),
        ("import_", ctypes.c_void_p),
        ("describe", ctypes.c_void_p),
        ("current_stream", CurrentStream),
    )


def _export(array: Any, place: Any) -> int:
    """Give what `array.exported()` gives, which is a capsule; fail where that refuses."""
    array.calls.append("export")
    try:
        capsule = array.exported()
    except BufferError:
        return -1  # no error can be left set here: what calls this for us would report it
    place[0] = _pointer_in(capsule, NAME)
    _rename(capsule, USED)
    return 0


class Exchange:
    """A library's table; its stream is that of `stream`, a handle."""

    def __init__(self, major: int = 1, previous: Exchange | None = None) -> None:
        self.stream, self.asked = 0, list[tuple[int, int]]()
        self.previous = previous
        older = None if previous is None else ctypes.addressof(previous.table)
        self.table = Table(
            major, 3, older, None, Export(_export), None, None, CurrentStream(self._current)
        )

    def _current(self, device_type: int, device: int, place: Any) -> int:
        self.asked.append((device_type, device))
        place[0] = self.stream
        return 0

    def capsule(self) -> object:
        """Return what a type of arrays has as `__dlpack_c_exchange_api__`."""
        return _new_capsule(ctypes.addressof(self.table), TABLE, None)
