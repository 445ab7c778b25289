"""Loads code into the driver, after it was checked and tried out."""

from __future__ import annotations

from ...base.cubin import architecture
from ...base.elf import MAGIC
from ..protocol import RefusedCodeError
from .code import is_machine_code, loadable
from .context import Context
from .results import NO_BINARY_FOR_GPU, UNLOADABLE, CallError


def load(context: Context, code: bytes, trusted: bool) -> int:
    """Load code; gives the driver's handle of the module. What is `trusted` is not tried out."""
    code = loadable(code, trusted=trusted)
    calls = context.calls
    try:
        if not trusted and is_machine_code(code):
            context.check()
            calls.try_out(context.ordinal, code)
        with context.loading:
            return context.call(calls.load_module, code)
    except CallError as error:
        if error.status in UNLOADABLE:
            raise RefusedCodeError(error.message, got=error.got, hint=error.hint) from None
        if error.status != NO_BINARY_FOR_GPU:
            raise
    major, minor = calls.capability(context.ordinal)
    raise RefusedCodeError(
        "the code was compiled for another architecture",
        expected=f"code for sm_{major}{minor}, which {context.name} is",
        got=f"code for {architecture(code)}" if code.startswith(MAGIC) else None,
        hint=f"compile it for this one: --arch sm_{major}{minor}",
    )
