"""LLVM text that runs plain launches and graphs on the calling thread, where their stream is idle;
and that puts launches on a stream, for others to run them.

    object tw_fire(uses, user, known, lane, queue, job, scratch, budget, shot, row, numbers)
    object tw_replay(uses, user, known, lane, queue, job, scratch, budget, memory, built, numbers)

    i64 tw_start(uses, user, known, lane, queue, job, shot, row, numbers)

begin a launch as `stub.shots` says, and fill in its job; or a run of a graph as `stub.claims` says,
whose job is a list, and which has no numbers. They put it on the stream and run it, with helpers if
it lasts. They give 0 if it needs a closer look, and nothing was done; else its number in its lane,
shifted, and whether time was up, so that it must be resumed, or it is over and reported nothing.
`tw_start` puts a launch behind what is on the stream; it gives its number in its lane alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...base.forking import made_once
from ..stub import claims, shots
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

THERE = "{ ptr, ptr, ptr, ptr }"
"""The stream, the job, and the numbers of a launch; null, if it runs here."""

BEGIN_HERE = """
; Whether the stream is idle; then no thread puts anything there until `enter`.
define internal i1 @seized(ptr %there) alwaysinline {{
  %queue = call ptr @link(ptr %there, i64 0)
  %seized = call i64 {seize}(ptr %queue)
  %idle = icmp ne i64 %seized, 0
  ret i1 %idle
}}

; Puts a job on a stream that was seized, if there is a number for it.
define internal void @enter(i64 %number, ptr %lane, ptr %there) alwaysinline {{
entry:
  %queue = call ptr @link(ptr %there, i64 0)
  %job = call ptr @link(ptr %there, i64 1)
  %ready = icmp sgt i64 %number, 0
  br i1 %ready, label %go, label %leave
leave:
  call void {let_go}(ptr %queue)
  ret void
go:
  call void {occupy}(ptr %queue, ptr %job)
  %put = call i64 @tw_put(ptr %lane)
  ret void
}}

; Puts a launch on its stream, if its memory can be used; its number in its lane.
; All of it in one step, so that launches have their numbers in the order in which they run.
define internal i64 @begin(ptr %shot, ptr %row, ptr %lane, ptr %there) {{
entry:
  %elsewhere = call ptr @link(ptr %there, i64 3)
  %here = icmp eq ptr %elsewhere, null
  br i1 %here, label %begin_here, label %begin_behind
begin_here:
  %begun_here = call i64 @begin_here(ptr %shot, ptr %row, ptr %lane, ptr %there)
  ret i64 %begun_here
begin_behind:
  %begun = call i64 @begin_behind(ptr %shot, ptr %row, ptr %lane, ptr %there)
  ret i64 %begun
}}

; Behind what is there.
define internal i64 @begin_behind(ptr %shot, ptr %row, ptr %lane, ptr %there) {{
entry:
  %number = call i64 @numbered(ptr %shot, ptr %row, ptr %lane)
  %ready = icmp sgt i64 %number, 0
  br i1 %ready, label %go, label %out
go:
  %queue = call ptr @link(ptr %there, i64 0)
  %job = call ptr @link(ptr %there, i64 1)
  %numbers = call ptr @link(ptr %there, i64 2)
  call void @fill(ptr %shot, ptr %row, ptr %numbers, ptr %job)
  %place = call i64 {put}(ptr %queue, ptr %job)
  %put = call i64 @tw_put(ptr %lane)
  br label %out
out:
  ret i64 %number
}}

; Where nothing is, to be run here.
define internal i64 @begin_here(ptr %shot, ptr %row, ptr %lane, ptr %there) {{
entry:
  %idle = call i1 @seized(ptr %there)
  br i1 %idle, label %ask, label %no
no:
  ret i64 -1
ask:
  %number = call i64 @numbered(ptr %shot, ptr %row, ptr %lane)
  %ready = icmp sgt i64 %number, 0
  br i1 %ready, label %go, label %out
go:
  %job = call ptr @link(ptr %there, i64 1)
  %numbers = call ptr @link(ptr %there, i64 2)
  call void @fill(ptr %shot, ptr %row, ptr %numbers, ptr %job)
  br label %out
out:
  call void @enter(i64 %number, ptr %lane, ptr %there)
  ret i64 %number
}}

; The same for a run of a graph, whose job knows where its memory is.
define internal i64 @begin_again(
    ptr %row, i64 %written, i64 %count, ptr %lane, ptr %there) {{
entry:
  %idle = call i1 @seized(ptr %there)
  br i1 %idle, label %ask, label %no
no:
  ret i64 -1
ask:
  %number = call i64 @tw_claim(ptr %row, i64 %written, i64 %count, ptr %lane)
  call void @enter(i64 %number, ptr %lane, ptr %there)
  ret i64 %number
}}
"""

FIRE = """
; Runs what was begun; what is told of it.
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

; Runs what was begun with a number, if it was; all that is told, as Python takes it.
define internal ptr @ran(
    i64 %begun, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget) {{
entry:
  %ready = icmp sgt i64 %begun, 0
  br i1 %ready, label %go, label %out
go:
  %told = call i64 @run(
    i64 %begun, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget)
  ; Of the handler of a signal, which a block that lasts has run.
  %raised = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %well, label %failed
failed:
  ret ptr null
well:
  %shifted = shl i64 %begun, {told_bits}
  %ran = or i64 %shifted, %told
  br label %out
out:
  %answer = phi i64 [ %begun, %entry ], [ %ran, %well ]
  %object = call ptr @told(i64 %answer)
  ret ptr %object
}}

; What beginning work takes besides.
define internal void @note_there(
    ptr %there, ptr %queue, ptr %job, ptr %numbers, ptr %elsewhere) alwaysinline {{
  %job_at = getelementptr ptr, ptr %there, i64 1
  %numbers_at = getelementptr ptr, ptr %there, i64 2
  %elsewhere_at = getelementptr ptr, ptr %there, i64 3
  store ptr %elsewhere, ptr %elsewhere_at
  store ptr %queue, ptr %there
  store ptr %job, ptr %job_at
  store ptr %numbers, ptr %numbers_at
  ret void
}}

define ptr @tw_start(
    ptr %uses, ptr %user, ptr %known, ptr %lane, ptr %queue, ptr %job, ptr %shot, ptr %row,
    ptr %numbers) {{
  %there = alloca {there}
  call void @note_there(ptr %there, ptr %queue, ptr %job, ptr %numbers, ptr %queue)
  %begun = call i64 @opened(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %lane, ptr %there)
  %object = call ptr @told(i64 %begun)
  ret ptr %object
}}

define ptr @tw_fire(
    ptr %uses, ptr %user, ptr %known, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget,
    ptr %shot, ptr %row, ptr %numbers) {{
  %there = alloca {there}
  call void @note_there(ptr %there, ptr %queue, ptr %job, ptr %numbers, ptr null)
  %begun = call i64 @opened(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %lane, ptr %there)
  %object = call ptr @ran(
    i64 %begun, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget)
  ret ptr %object
}}

define ptr @tw_replay(
    ptr %uses, ptr %user, ptr %known, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget,
    ptr %memory, ptr %built, ptr %numbers) {{
  %there = alloca {there}
  call void @note_there(ptr %there, ptr %queue, ptr %job, ptr %numbers, ptr null)
  %begun = call i64 @claimed(
    ptr %memory, ptr %uses, ptr %user, ptr %known, ptr %built, ptr %lane, ptr %there)
  %object = call ptr @ran(
    i64 %begun, ptr %lane, ptr %queue, ptr %job, ptr %scratch, i64 %budget)
  ret ptr %object
}}
"""

_A, _N, _B, _O = Kind.ADDRESS, Kind.NUMBER, Kind.BYTES, Kind.OBJECT
_COMMON = (_O, _O, _O, _A, _A, _A, _A, _N)
SIGNATURES = {
    "start": Signature((_O, _O, _O, _A, _A, _A, _A, _B, _B), gives=Kind.OBJECT),
    "fire": Signature((*_COMMON, _A, _B, _B), gives=Kind.OBJECT),
    "replay": Signature((*_COMMON, _A, _O, _B), gives=Kind.OBJECT),
}


def text(addresses: Mapping[str, int]) -> str:
    """The whole module, for streams whose functions are at these addresses."""
    known = {name: f"inttoptr (i64 {address} to ptr)" for name, address in addresses.items()}
    reports, reported = _any_of("job", REPORTS)
    ours = (BEGIN_HERE + FIRE).format(
        **known, there=THERE, unfinished=UNFINISHED, quiet=QUIET, told_bits=TOLD_BITS,
        reports=reports, reported=reported,
    )  # fmt: skip
    return "".join((BEGIN, shots.TEXT, claims.TEXT, ours))


def _any_of(record: str, words: Sequence[int]) -> tuple[str, str]:
    """Text that finds out whether any word of a record is not 0, and the name of the answer."""
    lines = ["%any0 = or i64 0, 0"]
    for i, word in enumerate(words):
        lines.append(f"%word{i} = call i64 @word(ptr %{record}, i64 {word})")
        lines.append(f"%any{i + 1} = or i64 %any{i}, %word{i}")
    return "\n".join(f"  {line}" for line in lines), f"%any{len(words)}"


class Firing(NamedTuple):
    """The compiled functions."""

    start: Fire
    fire: Fire
    replay: Fire


@made_once
def firing() -> Firing:
    """All of them, compiled at the first call."""
    return Firing(**callables(text(calls().addresses), SIGNATURES, optimize=True))
