"""Refuses what only GPUs have, for other targets."""

from __future__ import annotations

from ..base.errors import Code, CompileError
from ..ir.core import Func

HOSTS = ("cpu", "reference", "null")


def refuse_ptx(func: Func, target: str) -> None:
    """Raise for PTX in a kernel that is compiled for the host."""
    for op in func.walk() if target in HOSTS else ():
        if op.name == "inline_ptx":
            raise CompileError(
                "inline PTX runs on GPUs only",
                code=Code.TARGET,
                span=op.span,
                expected="a CUDA device",
                got=f"the device `{target}`",
                hint="select it by a constant, and write an alternative in the language",
            )
