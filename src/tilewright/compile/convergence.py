"""Refuses ops at which threads meet, where not all of them get."""

from __future__ import annotations

from ..analysis.uniformity import uniformity
from ..base.errors import Code, CompileError
from ..ir.core import Func
from ..ir.opdef import Effect


def refuse_parted(func: Func) -> None:
    """Raise for the first barrier that some threads of a block may reach and others not."""
    if not any(op.defn.effects & Effect.SYNC for op in func.walk()):
        return
    apart = uniformity(func).divergent
    for op in func.walk():
        if op.name == "sync_threads" and op in apart:
            raise CompileError(
                "not all threads of a block get to this barrier",
                code=Code.DIVERGENT,
                span=op.span,
                expected="code that all threads of a block run alike",
                got="a barrier behind a condition, a loop or a return on which threads differ",
                hint="move it out of the branch; a thread without work waits as the others do",
            )
