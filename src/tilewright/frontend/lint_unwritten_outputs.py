"""Warns about outputs that a kernel never writes: they keep their old contents.

Where a branch was left out while compiling nothing is said, since it may be for other constants;
nor of kernels that print or assert and write nothing at all.
"""

from __future__ import annotations

import ast

from ..base.errors import Code, UnwrittenWarning
from ..ir.core import Block, Value
from ..ir.opdef import Effect
from ..ir.signature import OutputSpec, Signature
from .interpret import Interpreter
from .sources import KernelSource

POINTERS = ("slice_pointer",)
"""Ops that tell where an output is; what is done there nobody knows."""
TELLING = ("print", "assert")


def warn_unwritten_outputs(
    it: Interpreter, kernel: KernelSource, body: Block, params: tuple[Value, ...]
) -> None:
    """Warn at the first output that is never written to, once for each kernel."""
    if it.em.left_out or kernel.warned:
        return
    names = _unwritten(body, it.em.signature, params)
    args = [a for a in ast.walk(kernel.source.node.args) if isinstance(a, ast.arg)]
    for arg in args:
        if arg.arg in names:
            kernel.warned.add(arg.arg)
            it.mark(arg)
            it.em.warn(
                f"`{kernel.name}` never writes to its output `{arg.arg}`",
                hint=WRITE[kernel.dialect].format(arg.arg) + ", or take it as an input",
                code=Code.UNWRITTEN,
                category=UnwrittenWarning,
            )
            return


WRITE = {"tile": "write {}.store(tile)", "simt": "write {}[i] = x"}


def _unwritten(body: Block, signature: Signature, params: tuple[Value, ...]) -> set[str]:
    """The names of outputs that no op writes to."""
    tensor_of: dict[Value, Value] = {}
    written: set[Value] = set()
    telling = False
    for op in body.walk():
        telling |= op.name in TELLING
        if op.name == "make_view":
            tensor_of[op.result] = op.operands[0]
        elif op.name in POINTERS or op.defn.effects & Effect.WRITE:
            written.update(tensor_of.get(v, v) for v in op.operands)
    if telling and not written:
        return set()
    named = zip(signature.params, params, strict=True)
    return {s.name for s, v in named if isinstance(s, OutputSpec) and v not in written}
