"""A file of kernels as a module, and the kernels in it by name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ..launch.definition import Entry
from .subcommand import UsageError

MODULE = "tilewright_file"
"""The name a file is imported by; not `__main__`, so that its program does not run."""


def load_file(path: Path) -> ModuleType:
    """Import a Python file, as Python does for a script: its folder comes first on the path."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"{MODULE}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    with first_on_path(path.parent):
        spec.loader.exec_module(module)
    return module


@contextmanager
def first_on_path(folder: Path) -> Generator[None, None, None]:
    """Make imports search a folder before all others."""
    entry = str(folder.absolute())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def kernels_of(module: ModuleType) -> dict[str, Entry]:
    """Return the kernels that a file defines, by name, in its order, without imported ones."""
    path = module.__file__
    found = {name: value for name, value in vars(module).items() if isinstance(value, Entry)}
    return {name: k for name, k in found.items() if k.source.source.file.name == path}


def chosen(path: Path, name: str | None) -> dict[str, Entry]:
    """Return the kernel of that name, or all kernels of a file."""
    module = load_file(path)
    own = kernels_of(module)
    if name is None:
        if not own:
            raise UsageError(f"{path} defines no kernels")
        return own
    imported = vars(module).get(name)
    if not isinstance(imported, Entry):
        raise UsageError(f"{path} has no kernel `{name}`; it has {', '.join(own) or 'none'}")
    return {name: imported}
