"""PTX as the author of a kernel wrote it, with registers for its places."""

from __future__ import annotations

from collections.abc import Callable

from ....base.dtypes import AnyDType, f32, f64
from ....ir.core import Op
from ..functions.text import Value as Vec
from .emitter import Emitter
from .types import register_type

LETTERS: dict[AnyDType, str] = {f32: "f", f64: "d"}
BY_BITS = {16: "h", 32: "r", 64: "l"}


def _letter(dtype: AnyDType) -> str:
    return LETTERS.get(dtype) or BY_BITS[dtype.bits]


def _quoted(text: str) -> str:
    """A text as LLVM writes it: what is special is given by number."""
    return "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\{ord(c):02X}" for c in text)


def _inline_ptx(emitter: Emitter, op: Op) -> None:
    outs = [f"={_letter(dtype)}" for dtype in op.attrs["dtypes"]]
    ins = [_letter(v.tile.dtype) for v in op.operands]
    args = ", ".join(str(emitter.scalar(v)) for v in op.operands)
    kinds = [register_type(dtype) for dtype in op.attrs["dtypes"]]
    constraints = ",".join([*outs, *ins, "~{memory}"])
    asm = f'asm sideeffect "{_quoted(op.attrs["text"])}", "{constraints}"({args})'
    if not kinds:
        emitter.do(f"call void {asm}")
    elif len(kinds) == 1:
        emitter.names[op.result] = emitter.body.emit(f"call {kinds[0]} {asm}", kinds[0], 1)
    else:
        _unpack(emitter, op, kinds, asm)


def _unpack(emitter: Emitter, op: Op, kinds: list[str], asm: str) -> None:
    whole = f"{{ {', '.join(kinds)} }}"
    packed: Vec = emitter.body.emit(f"call {whole} {asm}", "", 1)
    for number, (result, kind) in enumerate(zip(op.results, kinds, strict=True)):
        text = f"extractvalue {whole} {packed.name}, {number}"
        emitter.names[result] = emitter.body.emit(text, kind, 1)


TABLE: dict[str, Callable[[Emitter, Op], None]] = {"inline_ptx": _inline_ptx}
