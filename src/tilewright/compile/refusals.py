"""What is refused of kernels that are well formed, before any pass."""

from __future__ import annotations

from ..frontend.sources import Dialect
from ..ir.core import Func
from .convergence import refuse_parted
from .gpu_only import refuse_ptx
from .stopping import refuse_breakpoints


def accept(func: Func, target: str, dialect: Dialect) -> None:
    """Raise where threads that must meet may part, or a target lacks what a kernel uses."""
    refuse_breakpoints(func, target)
    if dialect == "simt":
        refuse_parted(func)
        refuse_ptx(func, target)
