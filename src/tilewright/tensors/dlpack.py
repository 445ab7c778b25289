"""DLPack's data: managed tensors as ctypes structures, element types as codes, capsules."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64
from ctypes import c_void_p as pointer
from types import MappingProxyType
from typing import Any, NamedTuple

from .._core import DLPACK_NAME, DLPACK_VERSIONED_NAME
from ..base import dtypes as dt
from ..base.dtypes import AnyDType

CPU = 1
CUDA, CUDA_HOST, CUDA_MANAGED = 2, 3, 13
HOST_KINDS = (CPU, CUDA_HOST)
"""Device types whose memory the host reads and writes directly."""
GPU_KINDS = (CUDA, CUDA_MANAGED)
"""Those whose memory is a GPU's."""
READ_ONLY, IS_COPIED = 1, 2
"""Flags of versioned managed tensors."""
VERSION = (1, 1)
"""What we write, and the newest we ask for."""


class DLTensor(ctypes.Structure):
    """Memory with its device, shape, element type and strides (in elements)."""

    data: int | None
    device_type: int
    device_id: int
    ndim: int
    code: int
    bits: int
    lanes: int
    shape: Any
    strides: Any
    byte_offset: int
    _fields_ = (
        ("data", pointer), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
        ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    )  # fmt: skip


class Plain(ctypes.Structure):
    """A managed tensor of the first version of the protocol."""

    tensor: DLTensor
    context: int
    deleter: int | None
    _fields_ = (("tensor", DLTensor), ("context", pointer), ("deleter", pointer))


class Versioned(ctypes.Structure):
    """A managed tensor with a version and flags."""

    major: int
    minor: int
    context: int
    deleter: int | None
    flags: int
    tensor: DLTensor
    _fields_ = (
        ("major", c_uint32), ("minor", c_uint32), ("context", pointer), ("deleter", pointer),
        ("flags", c_uint64), ("tensor", DLTensor),
    )  # fmt: skip


class Code(NamedTuple):
    """An element type: what kind, how many bits, how many to one element of the tensor."""

    kind: int
    bits: int
    lanes: int = 1


CODES: Mapping[AnyDType, Code] = MappingProxyType({
    dt.i8: Code(0, 8), dt.i16: Code(0, 16), dt.i32: Code(0, 32), dt.i64: Code(0, 64),
    dt.u8: Code(1, 8), dt.u16: Code(1, 16), dt.u32: Code(1, 32), dt.u64: Code(1, 64),
    dt.f16: Code(2, 16), dt.f32: Code(2, 32), dt.f64: Code(2, 64), dt.bf16: Code(4, 16),
    dt.bool_: Code(6, 8), dt.f8e4m3fn: Code(10, 8), dt.f8e5m2: Code(12, 8),
    dt.f8e8m0fnu: Code(14, 8), dt.f4e2m1fnx2: Code(17, 4, 2), dt.tf32: Code(2, 32),
})  # fmt: skip
"""tf32 goes out as the f32 that it is in memory."""

DTYPES: Mapping[Code, AnyDType] = MappingProxyType(
    {code: dtype for dtype, code in CODES.items() if dtype is not dt.tf32}
)

_new = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, c_char_p, pointer)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_name_of = ctypes.PYFUNCTYPE(c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_content = ctypes.PYFUNCTYPE(pointer, ctypes.py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_NAMES = {
    b"dltensor": c_char_p(DLPACK_NAME),
    b"dltensor_versioned": c_char_p(DLPACK_VERSIONED_NAME),
}
"""What capsules are called. They keep the pointer, and may outlive all memory of Python's."""


def new_capsule(name: bytes, managed: int, destructor: int) -> object:
    """Return a capsule for a managed tensor."""
    return _new(managed, _NAMES[name], destructor)


_STARTS: dict[bytes, int] = {
    b"dltensor": Plain.tensor.offset,
    b"dltensor_versioned": Versioned.tensor.offset,
}
"""How far behind the start of a managed tensor the tensor is."""


def tensor_in(capsule: Any) -> int:
    """Return the address of the tensor in a capsule that was not consumed."""
    name = _name_of(capsule)
    start = _STARTS.get(name)
    if start is None:
        raise BufferError(f"expected a capsule named dltensor or dltensor_versioned, got {name!r}")
    return int(_content(capsule, name)) + start


def managed_in(capsule: Any) -> Plain | Versioned:
    """Return the managed tensor in a capsule, to look at; it is the capsule's until it is taken."""
    name = _name_of(capsule)
    kind = Plain if name == b"dltensor" else Versioned
    return kind.from_address(tensor_in(capsule) - kind.tensor.offset)
