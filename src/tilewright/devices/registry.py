"""The devices of this process by name: those of the host, and GPUs where there are any.

GPUs are looked for when somebody first asks for one, or for the best device there is.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ..base import config
from ..base.errors import ContextError
from ..base.messages import tell
from ..base.system import at_fork
from .cuda.device import CudaDevice
from .cuda.finding import ForkedError, NoDriverError, find_driver
from .host import CPU, NULL, REFERENCE, CpuDevice
from .protocol import Device

HOST: Mapping[str, Device] = MappingProxyType(
    {device.name: device for device in (CPU, REFERENCE, NULL)}
)
CUDA = "cuda"
"""The first GPU; the others are `cuda:1` and so on."""
_MORE_CPUS = "set TILEWRIGHT_CPU_DEVICES=4 before the program starts for `cpu:1` to `cpu:3`"


class _Gpus:
    """The GPUs of this process, if they were looked for."""

    lock = threading.RLock()
    found: tuple[CudaDevice, ...] | None = None


@cache
def _parts_of_cpu(count: int) -> Mapping[str, Device]:
    """Return the devices of the processors by name: as many as the setting says."""
    parts = [CPU, *[CpuDevice(f"{CPU.name}:{number}") for number in range(1, count)]]
    return {part.name: part for part in parts} | {f"{CPU.name}:0": CPU}


def cpus() -> Mapping[str, Device]:
    """Return the devices that share the processors, by all names they have."""
    return _parts_of_cpu(config.of_process().cpu_devices)


def _on_host() -> tuple[Device, ...]:
    """Return the devices of the host, those of the processors first."""
    return tuple(dict.fromkeys((*cpus().values(), *HOST.values())))


def gpus() -> tuple[CudaDevice, ...]:
    """Return all usable GPUs; raise a ContextError with the reason if there are none."""
    if _Gpus.found is None:
        with _Gpus.lock:
            if _Gpus.found is None:
                calls = find_driver()
                at_fork(after_in_child=_forget)
                _Gpus.found = tuple(CudaDevice(calls, n) for n in range(calls.device_count()))
    return _Gpus.found


def _forget() -> None:
    """Drop the devices in a child process, which cannot use what its parent has opened."""
    _Gpus.lock, _Gpus.found = threading.RLock(), None


def all_devices() -> tuple[Device, ...]:
    """Return all devices, those for checking and testing included."""
    on_host = _on_host()
    try:
        return (*on_host, *gpus())
    except ContextError:
        return on_host


def best_device() -> Device:
    """Return the first GPU, or the CPU if there is none."""
    try:
        found = gpus()
    except NoDriverError:
        return CPU
    except ForkedError:
        raise
    except ContextError as error:
        _warn(f"{error.message} ({error.got}); {error.hint}")
        return CPU
    return found[0] if found else CPU


def _warn(why: str) -> None:
    """Warn once that a GPU is not used though there may be one."""
    message = f"the CPU is the default device: {why}"
    tell(message, stacklevel=4)


def get_device(name: str) -> Device:
    """Return the device of that name; a ContextError lists the known names.

    >>> get_device("cpu").name
    'cpu'
    """
    found = HOST.get(name)
    if found is None and name.startswith(CPU.name):
        found = cpus().get(name)
    if found is None:
        known = {gpu.name: gpu for gpu in gpus()} if name.startswith(CUDA) else {}
        found = known.get(f"{CUDA}:0" if name == CUDA else name)
        if found is None:
            names = [
                *dict.fromkeys(d.name for d in (*cpus().values(), *HOST.values())),
                CUDA,
                *known,
            ]
            number = name.removeprefix(f"{CUDA}:")
            raise ContextError(
                f"there is no device {name!r}",
                expected=" or ".join(f'"{n}"' for n in names),
                got=repr(name),
                hint=_MORE_CPUS if name.startswith(f"{CPU.name}:") else None,
                device_id=int(number) if number.isdecimal() else None,
            )
    return found


def device_count() -> int:
    """Return the number of usable GPUs; 0 without a driver."""
    try:
        return len(gpus())
    except NoDriverError:
        return 0


def gpu_of(number: int) -> CudaDevice:
    """Return the GPU of a number, counted from 0; a ContextError says how many there are."""
    try:
        found = gpus()
    except ContextError as error:
        error.device_id = number
        raise
    if not 0 <= number < len(found):
        raise ContextError(
            f"there is no GPU of the number {number}",
            expected=f"one of {len(found)}, counted from 0",
            device_id=number,
        )
    return found[number]
