"""Assertions, failed checks and prints: records in the launch's memory, never a trap."""

from __future__ import annotations

from collections.abc import Callable

from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ..functions.text import Value as Vec
from ..plan.nodes import Print
from ..plan.values import Buffer, itemsize
from .access import alignment, perform_if, to_memory
from .emitter import Emitter
from .grid import launch_word
from .record import RecordWords

FAIL = "@tw_fail"
COPY = "@tw_copy"
HEADER_WORDS = 3
"""Size, site and block begin a print record."""


def report(emitter: Emitter, ok: Vec, op: Op, index: Vec, extent: Vec) -> None:
    """Record a failure unless ok; the first one of a launch stays, and no further block starts."""
    fail_helper(emitter)
    site = emitter.integer(emitter.plan.sites[op])

    def fail() -> None:
        words = ", ".join(map(str, (site, emitter.linear_block, index, extent)))
        emitter.do(f"call void {FAIL}(ptr %launch, {words})")

    perform_if(emitter, ok ^ 1, fail)


def fail_helper(emitter: Emitter) -> str:
    """The function that records a failure: of the launch, a site, a place, an index, a bound."""
    return emitter.helper(FAIL, lambda: _fail_text(emitter.record))


def _fail_text(record: RecordWords) -> str:
    filled = {
        record.site: "%site", record.block: "%block",
        record.index: "%index", record.extent: "%extent",
    }  # fmt: skip
    stores = "\n".join(
        f"  %p{word:d} = getelementptr i64, ptr %launch, i64 {word:d}\n"
        f"  store i64 {value}, ptr %p{word:d}, align 8"
        for word, value in filled.items()
    )
    cancel = (
        ""
        if record.cancel is None
        else f"""
  %cancel = getelementptr i64, ptr %launch, i64 {record.cancel:d}
  store atomic i64 1, ptr %cancel seq_cst, align 8"""
    )
    return f"""\
define internal void {FAIL}(ptr %launch, i64 %site, i64 %block, i64 %index, i64 %extent) \
noinline cold nounwind {{
  %taken = getelementptr i64, ptr %launch, i64 {record.taken:d}
  %pair = cmpxchg ptr %taken, i64 0, i64 1 seq_cst seq_cst, align 8
  %first = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %first, label %fill, label %done
fill:
{stores}{cancel}
  br label %done
done:
  ret void
}}
"""


def _assert(emitter: Emitter, op: Op) -> None:
    zero = emitter.integer(0)
    report(emitter, emitter.scalar(op.one("cond")), op, zero, zero)


def _print(emitter: Emitter, statement: Print) -> None:
    sizes = [8 * ceil_div(_bytes(arg), 8) for arg in statement.args]
    total = emitter.integer(8 * HEADER_WORDS + sum(sizes))
    start, base, fits = print_room(emitter, total)

    def write() -> None:
        record = emitter.shifted(base, start, "i8")
        site = emitter.integer(emitter.plan.sites[statement.op])
        for number, word in enumerate((total, site, emitter.linear_block)):
            emitter.store(word, _at(emitter, record, 8 * number), 8)
        at = 8 * HEADER_WORDS
        for arg, size in zip(statement.args, sizes, strict=True):
            _write_operand(emitter, arg, _at(emitter, record, at))
            at += size

    perform_if(emitter, fits, write)


def print_room(emitter: Emitter, total: Vec) -> tuple[Vec, Vec, Vec]:
    """Take room for a record: where it starts, in which buffer, and whether it fits."""
    record = emitter.record
    used = launch_word(emitter, record.used)
    start = emitter.body.emit(f"atomicrmw add {used}, {total} seq_cst, align 8", "i64", 1)
    room = emitter.load(launch_word(emitter, record.capacity), "i64", align=8)
    if record.buffer is None:
        base = launch_word(emitter, record.end)
    else:
        base = emitter.load(launch_word(emitter, record.buffer), "ptr", align=8)
    return start, base, (start + total).compare("", "ule", room)


def _bytes(arg: Value | Buffer) -> int:
    return arg.bytes if isinstance(arg, Buffer) else itemsize(arg.tile.elem)


def _at(emitter: Emitter, address: Vec, offset: int) -> Vec:
    return emitter.shifted(address, emitter.integer(offset), "i8")


def _write_operand(emitter: Emitter, arg: Value | Buffer, address: Vec) -> None:
    if isinstance(arg, Value):
        elem = arg.tile.elem
        emitter.store(to_memory(emitter.scalar(arg), elem), address, alignment(elem))
        return
    emitter.helper(COPY, _copy_text)
    size = emitter.integer(arg.bytes)
    emitter.do(f"call void {COPY}({address}, {emitter.buffers[arg]}, {size})")


def _copy_text() -> str:
    """Byte by byte: prints are rare, and a call of memcpy would have to be found when loading."""
    return f"""\
define internal void {COPY}(ptr %to, ptr %from, i64 %size) noinline cold nounwind "no-builtins" {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %p = getelementptr i8, ptr %from, i64 %i
  %q = getelementptr i8, ptr %to, i64 %i
  %x = load i8, ptr %p
  store i8 %x, ptr %q
  %j = add nuw i64 %i, 1
  %more = icmp ult i64 %j, %size
  br i1 %more, label %next, label %done
done:
  ret void
}}
"""


TABLE: dict[str, Callable[..., None]] = {"assert": _assert, "print": _print}
