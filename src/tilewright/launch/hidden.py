"""Fills the hidden parameters of a kernel: the addresses of the globals it names."""

from __future__ import annotations

from ..array.pointer import DevicePointer
from ..array.resident import Resident
from ..driver.protocol import Device
from ..frontend.parameters import Parameter
from ..ir.signature import GlobalSpec, Signature
from .arguments import PointerArg


def hidden_args(signature: Signature, device: Device) -> list[PointerArg]:
    """The arguments that come after those of the caller; the device's memory is made if needed."""
    return [_argument(spec, device) for spec in signature.globals]


def _argument(spec: GlobalSpec, device: Device) -> PointerArg:
    memory = spec.memory
    assert isinstance(memory, Resident), f"the memory of a global is of no device: {memory!r}"
    pointer = DevicePointer(spec.dtype, memory.region(device))
    return PointerArg(Parameter(spec.name, "pointer", spec.dtype), pointer)
