"""What another library exports by DLPack, read with distrust.

A capsule is looked at before it is taken: one that is refused stays its library's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple

from .._core import take_capsule
from ..base.errors import ShapeError
from ..base.shapes import row_major_strides, size
from . import dlpack
from .described import refuse_address, wrong
from .dlpack import DTYPES, GPU_KINDS, HOST_KINDS, READ_ONLY, Code, Plain, Versioned
from .layout import Layout, layout_of
from .releases import sweep

MOST_AXES = 64
"""No library has arrays of more."""
_MOST = 1 << 63
"""No address of memory that there is, nor an extent or a stride, is so large."""
_FAR = 1 << 48
"""Extents, strides and offsets below this are in the sums that NumPy makes of them."""
_FIELDS = Struct("=QiiiBBHQQQ")
_NUMBERS = [Struct(f"={rank}q") for rank in range(MOST_AXES + 1)]


class _Tensor(NamedTuple):
    """DLPack's tensor, its pointers as numbers."""

    data: int
    device_type: int
    device_id: int
    ndim: int
    code: int
    bits: int
    lanes: int
    shape: int
    strides: int
    byte_offset: int


class Claimed(NamedTuple):
    """Memory as a capsule describes it."""

    layout: Layout
    address: int
    readonly: bool
    owner: object
    """Keeps it; then its deleter is called."""


def exported_by(x: Any, **wishes: Any) -> object:
    """Return the capsule that an object exports."""
    if getattr(x, "is_neg", bool)():  # torch does not say so
        raise BufferError("Can't export tensors with the negative bit set, use x.resolve_neg()")
    try:
        return x.__dlpack__(max_version=dlpack.VERSION, **wishes)
    except TypeError:  # a producer of the first version of the protocol
        return x.__dlpack__(**wishes)


class Given:
    """A capsule as an object that exports it, once."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **wishes: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0


def looked_at(x: Any) -> Given | None:
    """Return what x exports, if it is host memory that NumPy reads correctly; None: unknown."""
    capsule = exported_by(x)
    data, kind, _, rank, _, _, _, shape, strides, offset = _fields(capsule)
    if not (data and shape and 0 < rank <= MOST_AXES and kind in HOST_KINDS):
        return None
    numbers = (offset, *_numbers(shape, rank), *_numbers(strides, rank if strides else 0))
    return Given(capsule) if min(numbers) > -_FAR and max(numbers) < _FAR else None


def _fields(capsule: object) -> tuple[int, ...]:
    return _FIELDS.unpack(_read(dlpack.tensor_in(capsule), _FIELDS.size))


def claimed(x: Any, ordinal: int | None = None, **wishes: Any) -> Claimed:
    """Return the memory that x exports: of the host, or of the GPU with a number."""
    sweep()
    capsule = exported_by(x, **wishes)
    managed = dlpack.managed_in(capsule)
    refuse_version(x, managed)
    tensor = _Tensor(*_fields(capsule))
    _refuse_device(x, tensor, ordinal)
    layout = _layout(x, tensor)
    address = tensor.data + tensor.byte_offset
    refuse_address(x, layout, tensor.data and address)
    if not 0 <= address + layout.low <= address + layout.high <= _MOST:
        raise wrong(x, "memory that has addresses", f"shape {layout.shape} at {address:#x}")
    readonly = is_read_only(x, managed)
    return Claimed(layout, address, readonly, take_capsule(capsule))


def refuse_version(x: object, managed: Plain | Versioned) -> None:
    """Raise for a managed tensor of a version that is not known."""
    if isinstance(managed, Versioned) and managed.major != dlpack.VERSION[0]:
        raise BufferError(
            f"{type(x).__name__} exports DLPack {managed.major}.{managed.minor}, expected 1.x"
        )


def _refuse_device(x: object, tensor: _Tensor, ordinal: int | None) -> None:
    kinds = HOST_KINDS if ordinal is None else GPU_KINDS
    if tensor.device_type not in kinds:
        expected = f"memory on the device that it names: one of the types {kinds}"
        raise wrong(x, expected, f"device type {tensor.device_type}")
    if ordinal is not None and tensor.device_id != ordinal:
        raise wrong(x, f"memory on the GPU that it names, {ordinal}", str(tensor.device_id))


def _layout(x: object, tensor: _Tensor) -> Layout:
    code = Code(tensor.code, tensor.bits, tensor.lanes)
    dtype = DTYPES.get(code)
    if dtype is None:
        raise ShapeError(
            "this array's element type has no counterpart here",
            expected="bool, integers, f16, bf16, f32, f64, f8e4m3fn, f8e5m2, f8e8m0fnu, packed f4",
            got=f"DLPack type code {code.kind} with {code.bits} bits and {code.lanes} lanes",
        )
    rank = tensor.ndim
    if not 0 <= rank <= MOST_AXES:
        raise wrong(x, f"0 to {MOST_AXES} axes", str(rank))
    if rank and not tensor.shape:
        raise wrong(x, f"a shape of {rank} extents", "a null pointer")
    shape = _numbers(tensor.shape, rank)
    if any(n < 0 for n in shape) or size(shape) * dtype.itemsize >= _MOST:
        raise wrong(x, "extents that are not below 0, of an array that has addresses", str(shape))
    compact = not tensor.strides
    strides = row_major_strides(shape) if compact else _numbers(tensor.strides, rank)
    return layout_of(dtype, tuple(shape), tuple(strides))


def _numbers(address: int, count: int) -> Sequence[int]:
    return _NUMBERS[count].unpack(_read(address, 8 * count)) if count else ()


_read = ctypes.string_at

IMMUTABLE = frozenset(("jax", "jaxlib"))
"""Libraries whose arrays are never written, though not all of their exports say so."""


def is_read_only(x: object, managed: Plain | Versioned) -> bool:
    """Return whether the library of an array asks that its memory be not written."""
    asks = isinstance(managed, Versioned) and bool(managed.flags & READ_ONLY)
    return asks or type(x).__module__.partition(".")[0] in IMMUTABLE
