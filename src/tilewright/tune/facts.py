"""What a choice depends on: the kernel and its space, the call, the machine and the compilers."""

from __future__ import annotations

import ast
import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import llvmlite

from ..backend.tileir.target import is_architecture
from ..backend.tileir.toolchain import find_toolchain
from ..base.errors import CompileError
from ..base.files import source_hash
from ..devices.protocol import Device
from ..launch import Entry
from .key import described, plain
from .records import Facts
from .space import Space, shown

DRIVER = Path("/proc/driver/nvidia/version")
RELEASE = re.compile(r"Module.*?\s(\d+(?:\.\d+)+)\s")
"""In the first line of that file: the release of the driver."""


def facts_of(
    entry: Entry, space: Space, constants: dict[str, Any], key: object, device: Device
) -> Facts:
    """Return what a choice for one call is recorded under."""
    name = entry.__name__
    given = {n: shown(value) for n, value in sorted(constants.items())}
    return {
        "kernel": name,
        "source": source_of(entry),
        "space": _hash("\n".join(config.text for config in space)),
        "constants": given,
        "key": plain(name, key),
        "device": described(device),
        "versions": versions(device),
    }


def source_of(entry: Entry) -> str:
    """Return a hash of a kernel's own code: neither its comments nor its place in a file."""
    return _hash(ast.dump(entry.source.source.node))


def versions(device: Device) -> dict[str, Any]:
    """Return what compiles for a device and drives it."""
    known = {"tilewright": source_hash("backend", "passes", "lang"), "llvmlite": _llvm()}
    if is_architecture(device.target):
        known |= {"tileiras": _tileiras(), "driver": driver_release()}
    return known


def _llvm() -> str:
    return str(llvmlite.__version__)


def _tileiras() -> str | None:
    try:
        return find_toolchain().fingerprint
    except CompileError:  # SIMT kernels need none
        return None


@cache
def driver_release(path: Path = DRIVER) -> str | None:
    """Return the release of NVIDIA's driver, if there is one."""
    try:
        found = RELEASE.search(path.read_text())
    except OSError:
        return None
    return None if found is None else found[1]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
