"""A hash of parts of this package's own source, so that code made by another version is known."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = str(Path(__file__).parent.parent)
IMPORTED = time.time()
"""About when the package was loaded into this process."""
MARGIN_SECONDS = 2.0
"""How much older than that a file must be, to be surely what was loaded."""


@cache
def source_hash(*folders: str) -> str | None:
    """The SHA-256 of all source files below some folders of the package.

    None where a file was changed after it was loaded, or cannot be read: then nobody knows what
    this process runs.
    """
    found = sha256()
    try:
        for folder in folders:
            paths = list(_sources(f"{PACKAGE}/{folder}"))
            if not paths:
                return None  # installed without its source
            for path in paths:
                text = _read(path)
                found.update(f"{path.removeprefix(PACKAGE)}\0{len(text)}\0".encode())
                found.update(text)
    except OSError:
        return None
    return found.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    """All source files below a folder, in an order that is always the same."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.is_dir():
            yield from _sources(entry.path)


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        # Not the time of modification: installers and archives set that as they like.
        if about.st_ctime > IMPORTED - MARGIN_SECONDS:
            raise OSError(f"{path} was changed after it was loaded")
        text = os.read(file, about.st_size + 1)
        if len(text) != about.st_size:
            raise OSError(f"{path} is changing")
        return text
    finally:
        os.close(file)
