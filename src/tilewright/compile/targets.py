"""What each target makes of a function once the passes are done: the stages of its backend."""

from __future__ import annotations

from ..backend.llvm import stages as llvm
from ..backend.llvm.target import host_target
from ..backend.reference import interpreter as reference
from ..backend.tileir import stages as tileir
from ..base.stage import Stage
from ..frontend.sources import Dialect
from .options import PLAIN, CompileOptions


def stages(
    target: str, options: CompileOptions = PLAIN, dialect: Dialect = "tile"
) -> tuple[Stage, ...]:
    """The backend's own steps for a target."""
    if target in ("reference", "null"):
        return reference.stages()
    if dialect == "simt":
        return llvm.simt_stages(target)
    if target == "cpu":
        return llvm.stages(host_target())
    return tileir.stages_for(target, options.wishes)
