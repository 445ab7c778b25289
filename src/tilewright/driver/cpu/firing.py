"""LLVM text that runs plain launches on the calling thread, where their stream is idle.

    object tw_fire(shot, uses, user, known, row, numbers, lane, queue, job, scratch, budget)

begins a launch as `stub.shots` says, fills in its job, puts that on the stream and runs it, with
helpers if it lasts. Gives 0 if it needs a closer look, and nothing was done; else its number in its
lane, shifted, and whether time was up, so that it must be resumed, or it is over and has nothing to
report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from ..stub import shots
from ..stub.text import BEGIN
from .calling import Kind, Signature
from .record import CANCELLED, STARVED, TAKEN, USED
from .runtime.calls import callables, calls

Fire: TypeAlias = Callable[..., int]

UNFINISHED, QUIET = 1, 2
"""What is told of a launch, as bits below its number."""
TOLD_BITS = 2
REPORTS = (TAKEN, USED, CANCELLED, STARVED)
"""Words of a job of which one is not 0 where there is something to report."""

THERE = "{ ptr, ptr, ptr }"
"""The stream, the job, and the numbers of a launch."""

FIRE = """
; Puts a launch on its stream, if that is idle and its memory can be used; its number in its lane.
; All of it in one step, so that launches have their numbers in the order in which they run.
define internal i64 @begin(ptr %shot, ptr %row, ptr %lane, ptr %there) {{
entry:
  %queue = call ptr @link(ptr %there, i64 0)
  %job = call ptr @link(ptr %there, i64 1)
  %numbers = call ptr @link(ptr %there, i64 2)
  %seized = call i64 {seize}(ptr %queue)
  %idle = icmp ne i64 %seized, 0
  br i1 %idle, label %ask, label %no
no:
  ret i64 -1
ask:
  %number = call i64 @numbered(ptr %shot, ptr %row, ptr %lane)
  %ready = icmp sgt i64 %number, 0
  br i1 %ready, label %go, label %leave
leave:
  call void {let_go}(ptr %queue)
  ret i64 %number
go:
  call void @fill(ptr %shot, ptr %row, ptr %numbers, ptr %job)
  call void {occupy}(ptr %queue, ptr %job)
  %put = call i64 @tw_put(ptr %lane)
  ret i64 %number
}}

; Runs a launch that was begun; what is told of it.
define internal i64 @run(
    i64 %number, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget) {{
entry:
  %thread = call ptr @PyEval_SaveThread()
  %more = call i64 {resume}(ptr %queue, ptr %job, ptr %scratch, i64 %budget)
  call void @PyEval_RestoreThread(ptr %thread)
  %over = icmp eq i64 %more, 0
  br i1 %over, label %tell, label %late
late:
  ret i64 {unfinished}
tell:
  %told = call i64 @tw_pass(ptr %lane, i64 %number)
{reports}
  %silent = icmp eq i64 {reported}, 0
  %answer = select i1 %silent, i64 {quiet}, i64 0
  ret i64 %answer
}}

define ptr @tw_fire(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %numbers, ptr %lane, ptr %queue,
    ptr %job, ptr %scratch, i64 %budget) {{
entry:
  %there = alloca {there}
  %job_at = getelementptr ptr, ptr %there, i64 1
  %numbers_at = getelementptr ptr, ptr %there, i64 2
  store ptr %queue, ptr %there
  store ptr %job, ptr %job_at
  store ptr %numbers, ptr %numbers_at
  %begun = call i64 @opened(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %lane, ptr %there)
  %ready = icmp sgt i64 %begun, 0
  br i1 %ready, label %go, label %out
go:
  %told = call i64 @run(
    i64 %begun, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget)
  %shifted = shl i64 %begun, {told_bits}
  %ran = or i64 %shifted, %told
  br label %out
out:
  %answer = phi i64 [ %begun, %entry ], [ %ran, %go ]
  %object = call ptr @told(i64 %answer)
  ret ptr %object
}}
"""

_A, _N, _B, _O = Kind.ADDRESS, Kind.NUMBER, Kind.BYTES, Kind.OBJECT
SIGNATURES = {
    "fire": Signature((_A, _O, _O, _O, _B, _B, _A, _A, _A, _A, _N), gives=Kind.OBJECT)
}  # fmt: skip


def text(addresses: Mapping[str, int]) -> str:
    """The whole module, for streams whose functions are at these addresses."""
    known = {name: f"inttoptr (i64 {address} to ptr)" for name, address in addresses.items()}
    reports, reported = _any_of("job", REPORTS)
    ours = FIRE.format(
        **known, there=THERE, unfinished=UNFINISHED, quiet=QUIET, told_bits=TOLD_BITS,
        reports=reports, reported=reported,
    )  # fmt: skip
    return "".join((BEGIN, shots.TEXT, ours))


def _any_of(record: str, words: Sequence[int]) -> tuple[str, str]:
    """Text that finds out whether any word of a record is not 0, and the name of the answer."""
    lines = ["%any0 = or i64 0, 0"]
    for i, word in enumerate(words):
        lines.append(f"%word{i} = call i64 @word(ptr %{record}, i64 {word})")
        lines.append(f"%any{i + 1} = or i64 %any{i}, %word{i}")
    return "\n".join(f"  {line}" for line in lines), f"%any{len(words)}"


@cache
def fire() -> Fire:
    """The function, compiled at the first call."""
    return callables(text(calls().addresses), SIGNATURES, optimize=True)["fire"]
