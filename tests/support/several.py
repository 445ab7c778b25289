"""Several devices in one process: parts of the CPU, and simulated GPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support import simulated_cuda
from tilewright.base import config
from tilewright.devices import registry
from tilewright.devices.protocol import Device

KINDS = [("cpu", 2), ("cpu", 4), ("cuda", 2), ("cuda", 4)]


def make(kind: str, count: int, patch: pytest.MonkeyPatch) -> list[Device]:
    """Make `count` devices of a kind, which are those that are found."""
    if kind == "cpu":
        settings = replace(config.of_process(), cpu_devices=count)
        patch.setattr(registry.config, "of_process", lambda: settings)
        return [registry.get_device(f"cpu:{number}") for number in range(count)]
    set_attribute: Any = patch.setattr
    simulated_cuda.install("sm_90", patch=set_attribute, devices=count)
    return list(registry.gpus())
