"""Finds the hidden arguments of a kernel: the memory of the globals it names."""

from __future__ import annotations

from ..devices.protocol import Device
from ..ir.signature import GlobalSpec, Signature
from ..tensors.region import Region
from ..tensors.resident import Resident


def hidden_memory(signature: Signature, device: Device) -> list[Region]:
    """Return the memory behind the caller's arguments; allocate the device's if necessary."""
    return [_memory(spec, device) for spec in signature.globals]


def _memory(spec: GlobalSpec, device: Device) -> Region:
    memory = spec.memory
    assert isinstance(memory, Resident), f"the memory of a global is of no device: {memory!r}"
    return memory.region(device)
