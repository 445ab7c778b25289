"""Exports memory by DLPack: zero copy, leased until the other library calls the deleter."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from ..devices.cpu.release import PLAIN, VERSIONED
from ..devices.cuda.device import CudaDevice
from . import dlpack
from .dlpack import CODES, DLTensor, Plain, Versioned
from .region import Region
from .releases import Exported, sweep

_allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(
    ("PyMem_RawMalloc", ctypes.pythonapi)
)
_WORD = 8


class Wish(NamedTuple):
    """What a consumer asks for, as the protocol spells it."""

    stream: Any = None
    max_version: tuple[int, int] | None = None
    dl_device: tuple[int, int] | None = None
    copy: bool | None = None


def device_of(region: Region) -> tuple[int, int]:
    """Return DLPack's identifier of the device of a region."""
    device = region.storage.device
    return (dlpack.CUDA, device.ordinal) if isinstance(device, CudaDevice) else (dlpack.CPU, 0)


def check_wish(region: Region, wish: Wish) -> None:
    """Raise BufferError where a consumer asks for what cannot be had."""
    device = device_of(region)
    if wish.dl_device is not None and tuple(map(int, wish.dl_device)) != device:
        raise BufferError(f"this tensor can be exported to {device} only, not to {wish.dl_device}")
    if wish.stream is not None and wish.stream != -1 and device[0] == dlpack.CPU:
        raise BufferError(f"memory of the host has no stream, got {wish.stream!r}")


def export(
    region: Region, keep: object, wish: Wish, *, readonly: bool, copied: bool = False
) -> tuple[object, Exported]:
    """Return a capsule over a region's memory, and the export, which ends with the deleter."""
    sweep()
    version = wish.max_version
    form = PLAIN if version is None or version[0] < 1 else VERSIONED
    kind = Plain if form is PLAIN else Versioned
    rank = len(region.shape)
    size = _WORD + ctypes.sizeof(kind) + 2 * rank * _WORD
    block: int = _allocate(size)
    ctypes.memset(block, 0, size)
    managed = kind.from_address(block + _WORD)
    managed.context, managed.deleter = block, form.deleter
    _describe(managed.tensor, region, block + _WORD + ctypes.sizeof(kind))
    if isinstance(managed, Versioned):
        managed.major, managed.minor = dlpack.VERSION
        managed.flags = dlpack.READ_ONLY * readonly | dlpack.IS_COPIED * copied
    exported = Exported(block, (region.storage, keep))
    # An interrupt before it is listed costs no more than the block: the capsule dies, and what it
    # would have kept is let go of.
    capsule = dlpack.new_capsule(form.name, block + _WORD, form.destructor)
    exported.list()
    return capsule, exported


def _describe(tensor: DLTensor, region: Region, room: int) -> None:
    rank = len(region.shape)
    numbers = (ctypes.c_int64 * (2 * rank)).from_address(room)
    numbers[:] = [*region.shape, *region.strides]
    tensor.data = region.address if 0 not in region.shape else None
    tensor.device_type, tensor.device_id = device_of(region)
    tensor.ndim = rank
    tensor.code, tensor.bits, tensor.lanes = CODES[region.dtype]
    whole = ctypes.POINTER(ctypes.c_int64)
    tensor.shape = ctypes.cast(room, whole)
    tensor.strides = ctypes.cast(room + rank * _WORD, whole)
