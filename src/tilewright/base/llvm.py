"""Load llvmlite's binding of LLVM."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

LIBRARIES = {"linux": "libllvmlite.so", "darwin": "libllvmlite.dylib"}
"""The file name of llvmlite's library, by platform."""


class _Binding:
    """llvmlite's binding, loaded when something of it is first asked for: it has 30 MB."""

    def __getattr__(self, name: str) -> Any:
        load_library()
        found = getattr(importlib.import_module("llvmlite.binding"), name)
        setattr(self, name, found)
        return found


llvm: Any = _Binding()
"""Ships no types."""


def load_library() -> None:
    """Load llvmlite's library, so that llvmlite finds it loaded.

    `ctypes.CDLL` holds the GIL while the library is linked, for 6 ms, which an event loop in
    another thread would wait for; a function called through ctypes releases it. Errors are those of
    llvmlite, which loads the library again.
    """
    package = importlib.util.find_spec("llvmlite")
    name = LIBRARIES.get(sys.platform)
    if package is None or package.origin is None or name is None:
        return
    path = Path(package.origin).parent / "binding" / name
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    dlopen(os.fsencode(path), os.RTLD_NOW)
