"""Refuses breakpoints where no debugger can stop: everywhere but on the reference device."""

from __future__ import annotations

from ..base.errors import Code, CompileError
from ..ir.core import Func

CAN_STOP = "reference"


def refuse_breakpoints(func: Func, target: str) -> None:
    """Raise for a breakpoint in a kernel that is compiled for a device that runs it natively."""
    for op in func.walk() if target != CAN_STOP else ():
        if op.name == "print" and op.attrs["names"]:
            raise CompileError(
                "a debugger can stop on the reference device only",
                code=Code.TARGET,
                span=op.span,
                expected="the device `reference`",
                got=f"the device `{target}`",
                hint='run it there: with tw.device("reference"): ...; or print(...) instead',
            )
