"""Compiling again and again takes no more memory: passes are freed when they have run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest

from tilewright.backend.llvm.object import compile_module, host_target, run_passes
from tilewright.backend.ptx.module import PtxTarget, compile_ptx

CPU = "define void @f(ptr %x) {\n  store i32 1, ptr %x\n  ret void\n}\n"
PTX = CPU.replace("void @f", "ptx_kernel void @f")
MOST = 20_000
"""Bytes that one more compilation may leave behind; a pipeline has five times as many."""


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )]  # fmt: skip


@pytest.fixture
def allocated() -> Callable[[], int]:
    """How many bytes the C library has allocated and not freed."""
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if ask is None:
        pytest.skip("this C library does not tell")
    ask.restype = Mallinfo
    return lambda: ask().uordblks


@pytest.mark.parametrize("kind", ["cpu", "ptx"])
def test_what_was_compiled_leaves_no_passes_behind(kind, allocated):
    def compile_one() -> None:
        if kind == "cpu":
            compile_module(CPU, host_target())
        else:
            compile_ptx(PTX, PtxTarget("sm_90"), None)

    for _ in range(5):
        compile_one()
    before = allocated()
    for _ in range(20):
        compile_one()
    assert allocated() - before < 20 * MOST


def test_passes_are_freed_where_they_fail_too():
    class Failing(llvm.ModulePassManager):
        def run(self, module, builder):
            raise ValueError("no")

    manager = Failing()
    with pytest.raises(ValueError, match="no"):
        run_passes(manager, None, None)
    assert manager.closed, "nobody frees it once more"
