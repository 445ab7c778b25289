"""Bytecode that the assembler failed on, kept as evidence: one file each, the newest of them.

They lie in one private folder of the directory for temporary files, for all processes of a user.
A kernel that fails again has the same file.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...base.private_directory import opened, remove, write

MOST = 64
"""Files that are kept."""


def keep(kernel: str, bytecode: bytes) -> Path:
    """Keep the bytecode of a kernel; OSError or RefusedError where that cannot be."""
    folder = Path(tempfile.gettempdir(), f"tilewright-{os.geteuid()}")
    name = f"{kernel[:40]}-{sha256(bytecode).hexdigest()[:16]}.tileirbc"
    with opened(folder, create=True) as directory:
        write(directory, name, bytecode)
        with suppress(OSError):  # of two processes at it, the other one removes
            _limit(directory, name)
    return folder / name


def _limit(directory: int, newest: str) -> None:
    """Remove the oldest files, those included that somebody never finished writing."""
    with os.scandir(directory) as found:
        others = [(e.stat().st_mtime_ns, e.name) for e in found if e.name != newest]
    for _, name in sorted(others, reverse=True)[MOST - 1 :]:
        remove(directory, name)
