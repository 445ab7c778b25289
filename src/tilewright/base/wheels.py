"""Files that installed wheels bring along, which are no modules of Python."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def files_in_wheel(wheel: str, name: str) -> Iterator[Path]:
    """Where a wheel has files of a name; nothing if it is not installed."""
    try:
        files = distribution(wheel).files or []
    except PackageNotFoundError:
        return
    for file in files:
        if file.name == name:
            yield Path(str(file.locate()))
