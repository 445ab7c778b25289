"""What each target makes of a function once the passes are done: the stages of its backend."""

from __future__ import annotations

from ..base.stage import Stage
from ..frontend.sources import Dialect
from .options import PLAIN, CompileOptions


def stages(
    target: str, options: CompileOptions = PLAIN, dialect: Dialect = "tile"
) -> tuple[Stage, ...]:
    """The backend's own steps for a target; a backend is loaded with its first kernel."""
    if target in ("reference", "null"):
        from ..backend.reference import interpreter

        return interpreter.stages()
    if dialect == "simt" or target == "cpu":
        from ..backend.llvm import stages as llvm

        return llvm.simt_stages(target) if dialect == "simt" else llvm.stages()
    from ..backend.tileir import stages as tileir

    return tileir.stages_for(target, options.codegen_hints)
