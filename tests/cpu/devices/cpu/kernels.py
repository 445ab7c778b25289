"""Tiny hand-written native kernels, and the slots to call them with."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from tilewright.base.cpu_abi import CpuLaunchWord
from tilewright.devices.cpu.native import NativeFunction, load

Array = np.ndarray[Any, Any]

LOOP = """
define void @kernel(ptr %args, ptr %launch, i64 %begin, i64 %end, ptr %scratch) {{
entry:
  %cancel_at = getelementptr i64, ptr %launch, i64 {cancel}
  %out = load ptr, ptr %args
  br label %head
head:
  %block = phi i64 [ %begin, %entry ], [ %next, %tail ]
  %more = icmp slt i64 %block, %end
  br i1 %more, label %check, label %done
check:
  %cancel = load atomic i64, ptr %cancel_at monotonic, align 8
  %go = icmp eq i64 %cancel, 0
  br i1 %go, label %body, label %done
body:
{body}
  br label %tail
tail:
  %next = add i64 %block, 1
  br label %head
done:
  ret void
}}
{rest}
"""

WRITE_BLOCK = """
  %at = getelementptr i64, ptr %out, i64 %block
  %old = load i64, ptr %at
  %sum = add i64 %old, %block
  store i64 %sum, ptr %at"""

WRITE_BEGIN = """
  %at = getelementptr i64, ptr %out, i64 %block
  store i64 %begin, ptr %at"""

USLEEP = "declare i32 @usleep(i32)"


def sleep_then_write(microseconds: int) -> str:
    return f"\n  call i32 @usleep(i32 {microseconds}){WRITE_BLOCK}"


def _until(there: str) -> str:
    """Wait, a minute at most, until `%there`."""
    return f"""
  br label %wait
wait:
  %i = phi i64 [ 0, %body ], [ %j, %nap ]{there}
  %late = icmp sge i64 %i, 60000
  %stop = or i1 %there, %late
  br i1 %stop, label %over, label %nap
nap:
  call i32 @usleep(i32 1000)
  %j = add i64 %i, 1
  br label %wait
over:"""


BOTH = _until("""
  %count = load atomic i64, ptr %count_at seq_cst, align 8
  %there = icmp sge i64 %count, 2""")

MEET = f"""
  ; waits until two blocks have come here; writes whether they have
  %count_at = getelementptr i64, ptr %out, i64 2
  atomicrmw add ptr %count_at, i64 1 seq_cst{BOTH}
  %at = getelementptr i64, ptr %out, i64 %block
  %met = zext i1 %there to i64
  store i64 %met, ptr %at"""

GATE = _until("""
  ; until somebody opens the gate
  %open = load atomic i64, ptr %out seq_cst, align 8
  %there = icmp ne i64 %open, 0""")

UNTIL_OPEN = """
  ; a block of a microsecond of arithmetic, or of nothing once the gate is open
  %open = load atomic i64, ptr %out seq_cst, align 8
  %shut = icmp eq i64 %open, 0
  br i1 %shut, label %spin, label %over
spin:
  %i = phi i64 [ 0, %body ], [ %j, %spin ]
  %x = phi i64 [ %block, %body ], [ %z, %spin ]
  %y = mul i64 %x, 6364136223846793005
  %z = add i64 %y, 1442695040888963407
  %j = add i64 %i, 1
  %again = icmp slt i64 %j, 1000
  br i1 %again, label %spin, label %kept
kept:
  call void asm sideeffect "", "r"(i64 %z)
  br label %over
over:"""

SCRATCH_SUM = """
  ; the block's number goes through 64 bytes of scratch, the last of 4096
  %low_at = getelementptr i8, ptr %scratch, i64 4032
  store volatile i64 %block, ptr %low_at
  call i32 @usleep(i32 50)
  %read = load volatile i64, ptr %low_at
  %address = ptrtoint ptr %scratch to i64
  %odd = and i64 %address, 63
  %value = add i64 %read, %odd
  %at = getelementptr i64, ptr %out, i64 %block
  store i64 %value, ptr %at"""

FAIL_AT_17 = f"""
  %bad = icmp sge i64 %block, 17
  br i1 %bad, label %fail, label %fine
fail:
  %taken_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.ERROR_TAKEN.value}
  %won = cmpxchg ptr %taken_at, i64 0, i64 1 monotonic monotonic
  %first = extractvalue {{ i64, i1 }} %won, 1
  br i1 %first, label %record, label %fine
record:
  %site_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.ERROR_SITE.value}
  store i64 3, ptr %site_at
  %block_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.ERROR_BLOCK.value}
  store i64 %block, ptr %block_at
  %index_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.ERROR_INDEX.value}
  store i64 -5, ptr %index_at
  %extent_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.ERROR_EXTENT.value}
  store i64 4, ptr %extent_at
  store atomic i64 1, ptr %cancel_at monotonic, align 8
  br label %fine
fine:{WRITE_BLOCK}"""

PRINT = f"""
  %used_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.PRINT_USED.value}
  %offset = atomicrmw add ptr %used_at, i64 32 monotonic
  %after = add i64 %offset, 32
  %capacity_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.PRINT_CAPACITY.value}
  %capacity = load i64, ptr %capacity_at
  %fits = icmp sle i64 %after, %capacity
  br i1 %fits, label %print, label %quiet
print:
  %buffer_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.PRINT_BUFFER.value}
  %buffer = load ptr, ptr %buffer_at
  %record = getelementptr i8, ptr %buffer, i64 %offset
  store i64 32, ptr %record
  %r1 = getelementptr i64, ptr %record, i64 1
  store i64 7, ptr %r1
  %r2 = getelementptr i64, ptr %record, i64 2
  store i64 %block, ptr %r2
  %r3 = getelementptr i64, ptr %record, i64 3
  store i64 99, ptr %r3
  br label %quiet
quiet:{WRITE_BLOCK}"""

GRID = """
  ; writes the grid words; one block
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %launch, i64 64, i1 false)"""

STREAM = f"""
  %word_at = getelementptr i64, ptr %launch, i64 {CpuLaunchWord.STREAM.value}
  %word = load i64, ptr %word_at
  store i64 %word, ptr %out"""

SPIN = """
  ; about a microsecond of arithmetic per block
  br label %spin
spin:
  %i = phi i64 [ 0, %body ], [ %j, %spin ]
  %x = phi i64 [ %block, %body ], [ %z, %spin ]
  %y = mul i64 %x, 6364136223846793005
  %z = add i64 %y, 1442695040888963407
  %j = add i64 %i, 1
  %again = icmp slt i64 %j, 1000
  br i1 %again, label %spin, label %over
over:
  %at = getelementptr i64, ptr %out, i64 %block
  store i64 %z, ptr %at"""


@cache
def object_code(body: str, rest: str = "") -> bytes:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=2, reloc="pic", codemodel="default")
    text = LOOP.format(cancel=CpuLaunchWord.CANCEL.value, body=body, rest=rest)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.verify()
    return machine.emit_object(module)


@cache
def kernel(body: str, rest: str = "") -> NativeFunction:
    return load(object_code(body, rest), "kernel")


def slots(*arrays: Array) -> Array:
    """One slot per array: its address."""
    return np.array([a.ctypes.data for a in arrays], np.uint64)
