"""Runs passes of LLVM over a module, and disposes of them."""

from __future__ import annotations

from typing import Any

from llvmlite.binding.newpassmanagers import NewPassManager


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run a pass manager, which is used up by that.

    llvmlite disposes of everything when it is dropped, but of these: the class that wraps a
    resource, which does nothing, comes before the one that knows how. 100 kB would stay each time.
    """
    try:
        manager.run(module, builder)
    finally:
        NewPassManager._dispose(manager)
        manager.detach()
