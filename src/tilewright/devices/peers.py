"""Peer access: devices that reach each other's memory directly."""

from __future__ import annotations

from .cuda.device import CudaDevice
from .protocol import Device


def peer_access(device: Device, other: Device) -> bool:
    """Let two devices reach each other's memory directly; return whether they do.

    Copies between GPUs that do not go through the host. Devices of the host share its memory.
    """
    if isinstance(device, CudaDevice) and isinstance(other, CudaDevice):
        return device is other or (device.open_to(other) and other.open_to(device))
    return device.host_visible and other.host_visible
