"""What is refused of SIMT kernels that are well formed, before any pass."""

from __future__ import annotations

from ..ir.core import Func
from .convergence import refuse_parted
from .gpu_only import refuse_ptx


def accept_threads(func: Func, target: str) -> None:
    """Raise where threads that must meet may part, or a target lacks what they use."""
    refuse_parted(func)
    refuse_ptx(func, target)
