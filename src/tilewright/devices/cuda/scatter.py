"""Kernels that copy and fill memory with gaps: PTX made by LLVM, loaded when first needed."""

from __future__ import annotations

from typing import NamedTuple

from ...base.llvm import llvm
from ...base.shield import llvm_lock, made_once
from ..protocol import Block

RANK = 8
"""Axes that the kernels walk; blocks have fewer, once axes that are one in memory are joined."""
THREADS = 256
MOST_BLOCKS = 1 << 16
SIZES = (1, 2, 4, 8)
ARCH = "sm_80"
"""The oldest architecture there are tile kernels for: PTX runs on all that are newer."""

HEAD = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
"""

LOOP = """
define ptx_kernel void @{name}({parameters}) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %tid64 = zext i32 %tid to i64
  %block64 = zext i32 %block to i64
  %threads64 = zext i32 %threads to i64
  %blocks64 = zext i32 %blocks to i64
  %before = mul i64 %block64, %threads64
  %first = add i64 %before, %tid64
  %step = mul i64 %blocks64, %threads64
  br label %test
test:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %out
body:
  %left{rank} = add i64 %i, 0
  %target{rank} = add i64 0, 0
  %source{rank} = add i64 0, 0
{axes}
{move}
  %next = add i64 %i, %step
  br label %test
out:
  ret void
}}
"""

AXIS = """  %left{k} = udiv i64 %left{outer}, %extent{k}
  %index{k} = urem i64 %left{outer}, %extent{k}
  %target_step{k} = mul i64 %index{k}, %to{k}
  %target{k} = add i64 %target{outer}, %target_step{k}
  %source_step{k} = mul i64 %index{k}, %from{k}
  %source{k} = add i64 %source{outer}, %source_step{k}
"""

LOAD = """  %source_at = getelementptr i8, ptr addrspace(1) %source, i64 %source0
  %element = load i{bits}, ptr addrspace(1) %source_at, align {size}
"""
STORE = """  %target_at = getelementptr i8, ptr addrspace(1) %target, i64 %target0
  store i{bits} %element, ptr addrspace(1) %target_at, align {size}
"""
GIVEN = "  %element = trunc i64 %value to i{bits}\n"
GIVEN_WHOLE = "  %element = add i64 %value, 0\n"


def _kernel(name: str, size: int, *, copies: bool) -> str:
    axes = "".join(AXIS.format(k=k, outer=k + 1) for k in reversed(range(RANK)))
    given = GIVEN_WHOLE if size == SIZES[-1] else GIVEN
    move = ((LOAD if copies else given) + STORE).format(bits=8 * size, size=size)
    second = "ptr addrspace(1) %source" if copies else "i64 %value"
    words = [f"i64 %{word}{k}" for word in ("extent", "to", "from") for k in range(RANK)]
    parameters = ", ".join(["ptr addrspace(1) %target", second, "i64 %count", *words])
    return LOOP.format(name=name, parameters=parameters, axes=axes, move=move, rank=RANK)


@made_once
def ptx() -> bytes:
    """Return the PTX of all the kernels: `copy_N` and `fill_N` for elements of N bytes."""
    text = HEAD + "".join(
        _kernel(f"{verb}_{size}", size, copies=verb == "copy")
        for verb in ("copy", "fill")
        for size in SIZES
    )
    with llvm_lock():
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
        machine = target.create_target_machine(cpu=ARCH, opt=3)
        module = llvm.parse_assembly(text)
        module.verify()
        code: str = machine.emit_assembly(module)
    return code.encode() + b"\0"


class Walk(NamedTuple):
    """How a kernel walks a block: how many elements, the words it gets, over how many blocks."""

    elements: int
    words: list[int]
    blocks: int


def walk(target: Block, source: Block | None) -> Walk:
    """Return the walk over all elements of a block, and of a second block beside it."""
    steps = source.strides if source is not None else (0,) * len(target.shape)
    axes = joined(list(zip(target.shape, target.strides, steps, strict=True)))
    assert len(axes) <= RANK, "tensors have at most 8 axes"
    axes = [(1, 0, 0)] * (RANK - len(axes)) + axes
    count = 1
    for extent, _, _ in axes:
        count *= extent
    words = [axis[which] for which in range(3) for axis in axes]
    return Walk(count, words, min(MOST_BLOCKS, -(-count // THREADS)))


def joined(axes: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Merge the axes that are adjacent in memory and drop those of extent 1; innermost last."""
    found: list[tuple[int, int, int]] = []
    for extent, to, come in axes:
        if extent == 1:
            continue
        if found and found[-1][1:] == (extent * to, extent * come):
            found[-1] = (found[-1][0] * extent, to, come)
        else:
            found.append((extent, to, come))
    return found
