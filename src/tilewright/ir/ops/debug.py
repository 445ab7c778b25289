"""Device print and assert: records in launch buffers, never a trap."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_
from ..opdef import Effect, declare
from ..types import Type
from .rules import Attrs, none, scalar


def _assert(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], bool_)
    return ()


OPS = (
    declare("print", "core", "args*", none,
            "Writes a record; `template` is a tuple of str, and (n, spec) for operand n."
            " Where it has `names`, those of its operands, a debugger stops instead.",
            attrs={"template": (), "names": ()}, effects=Effect.PRINT),
    declare("assert", "core", "cond", _assert,
            "Records a failed assertion with `message` if cond is false. One that checks a span of"
            " tiles names the output, `tensor`, and the `axis`.",
            attrs={"message": "", "tensor": "", "axis": 0}, effects=Effect.CHECK),
)  # fmt: skip
