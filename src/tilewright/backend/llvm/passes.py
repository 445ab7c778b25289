"""Runs passes of LLVM over modules, and frees them.

llvmlite does not: `_dispose` of a pass manager is hidden by that of its first base, which does
nothing. Each manager would keep its passes, a hundred kilobytes in the default pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite.binding.newpassmanagers import NewPassManager

_dispose: Callable[[Any], None] = vars(NewPassManager)["_dispose"]


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run the passes of a manager over a module, once."""
    try:
        manager.run(module, builder)
    finally:
        _dispose(manager)
        manager.detach()


def run_default_passes(module: Any, builder: Any) -> None:
    """Run the passes that a builder's options ask for."""
    run_passes(builder.getModulePassManager(), module, builder)
