"""Safe kernels for CUDA have the bytecode of their unchecked twins, to the byte."""

from __future__ import annotations

import pytest

import tilewright as tw
from support.cuda import cuda_ir, lowered
from support.proved import NAMES, cases
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.base.config import override


@pytest.mark.parametrize("line_info", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_bytecode_is_that_of_the_unchecked_twin(name, line_info):
    case = cases()[name]
    with override(line_info=line_info):
        safe, twin = (
            lowered(cuda_ir(kernel, *case.arguments(tw.meta), **case.constants)).bytecode()
            for kernel in (case.kernel, case.twin())
        )
    assert safe == twin


def test_and_so_is_the_cubin(tool):
    case = cases()["causal grouped attention"]
    made = [
        lowered(cuda_ir(kernel, *case.arguments(tw.meta), **case.constants)).bytecode()
        for kernel in (case.kernel, case.twin())
    ]
    cubins = [assemble(Job("kernel", "sm_90", code, None), tool) for code in made]
    assert cubins[0] == cubins[1]


@pytest.mark.usefixtures("tool")
def test_forced_checks_are_in_the_bytecode():
    case = cases()["gemm"]
    args = case.arguments(tw.meta)
    plain = case.kernel.compile_for("sm_90", *args, **case.constants)
    forced = case.kernel.compile_for(
        "sm_90", *args, options=tw.CompileOptions(checks="forced"), **case.constants
    )
    assert not plain.sites and len(forced.sites) == 4
