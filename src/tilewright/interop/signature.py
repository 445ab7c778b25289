"""What a Python kernel of another compiler declares by its names, and what its PTX says of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ..base.dtypes import AnyDType, DType, as_dtype, bool_, u64
from ..base.errors import LaunchError
from ..devices.cuda.device import CudaDevice
from ..devices.protocol import Device
from ..frontend.capture.parameters import Kind, Parameter

ENTRY = re.compile(r"\.entry\s+([\w$.]+)\s*\(([^)]*)\)")
EMPTY: Any = inspect.Parameter.empty


class EntryPoint(NamedTuple):
    """The kernel of a PTX module: its name there, and how many parameters it has."""

    name: str
    parameters: int


def entry_point(ptx: str) -> EntryPoint:
    """Return the first kernel of a module."""
    found = ENTRY.search(ptx)
    assert found is not None, "a compiled kernel has an entry"
    return EntryPoint(found[1], found[2].count(".param"))


def parameters_of(
    kernel: str, names: Sequence[str], reads: Iterable[str], writes: Iterable[str]
) -> tuple[Parameter, ...]:
    """Return the parameters of a kernel: those neither read nor written are numbers."""
    kinds: dict[str, Kind] = {**dict.fromkeys(reads, "tensor"), **dict.fromkeys(writes, "output")}
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise TypeError(
            f"`{kernel}` has no parameter {', '.join(f'`{n}`' for n in unknown)};"
            f" it takes {', '.join(names)}"
        )
    return tuple(Parameter(name, kinds.get(name, "scalar")) for name in names)


def gpu_of(kernel: str, device: Device, library: str) -> CudaDevice:
    """Return the GPU that a kernel runs on; raise if there is none."""
    if not isinstance(device, CudaDevice):
        raise LaunchError(
            f"`{kernel}` is a kernel of {library}, which runs on NVIDIA GPUs",
            expected="tensors of a GPU",
            got=f"tensors of {device.name}",
            hint='make them there: tw.zeros(..., device="cuda")',
        )
    return device


def number_type(
    value: Any, real: AnyDType, integers: Sequence[tuple[AnyDType, int, int]]
) -> AnyDType:
    """Return the type of a number: that of a typed scalar, else by a library's rule for Python."""
    if isinstance(value, DType):
        return type(value)
    if _is_numpy_scalar(value):
        return as_dtype(value.dtype)
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return next((dtype for dtype, low, end in integers if low <= value < end), u64)
    return real


def _is_numpy_scalar(value: object) -> TypeGuard[np.generic[Any]]:
    return isinstance(value, np.generic)
