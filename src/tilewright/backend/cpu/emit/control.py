"""Control flow, the grid, polling for interrupts, assertions and prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.cpu_abi import CpuLaunchWord
from ....base.shapes import Numbers, ceil_div, tile_index
from ....ir.core import Op, Value
from ....ir.opdef import Trait
from ...llvm.builder import Vec, where
from ..loopnest.nodes import For, If, JumpStmt, Print, Repeat, ScopeStmt, TileBuffer, itemsize
from .access import alignment, perform_if, to_memory
from .emitter import Labels, LlvmEmitter, RecordWords

# -------------------------------------------------------------------------------------------------
# Polling: loops that may run for long check for cancellation (safepoints).
#
# A loop counts its iterations down in a register and calls the driver at zero. The driver returns
# the number of iterations until the next call, about a millisecond's worth. Zero means that the
# launch was cancelled; the kernel then returns at once, since the code after a loop may rely on its
# end.

FIRST = 64
"""Iterations until the first poll, by the cost of an iteration."""
BRIEF = 1 << 16
"""A loop of at most this many iterations, inner loops multiplied, ends before a user could cancel
it, and does not poll."""

SHORT = {"i8": 1 << 8, "i16": 1 << 16}
"""How often loops run at most that are counted in these."""

LOOK = "cold nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)"
"""It touches no memory of the kernel's, so values may stay in registers."""


def poll(emitter: LlvmEmitter) -> None:
    """End an iteration of a loop without a known trip count."""
    if emitter.record.cancel is None:
        return
    left = _patience(emitter)
    count = emitter.load(left, "i64", align=8) - 1
    emitter.store(count, left, align=8)
    look, onward = emitter.label("look"), emitter.label("onward")
    emitter.branch(count.eq(0), look, onward)
    emitter.body.label(look)
    _look(emitter, left, onward)
    emitter.body.label(onward)


def enter(emitter: LlvmEmitter) -> int:
    """Begin a loop; return the state for `look_up`."""
    outer, emitter.unseen = emitter.unseen, 0
    return outer


def look_up(emitter: LlvmEmitter, outer: int, most: int | None = None) -> None:
    """End an iteration of a loop with a known maximum of iterations; poll if there are many."""
    rounds = None if most is None else most * max(emitter.unseen, 1)
    emitter.unseen = outer
    if rounds is None or rounds > BRIEF:
        poll(emitter)
    else:
        emitter.unseen += rounds


class Rounds:
    """The iterations of a `for`, counted from 0, and its polling.

    An innermost loop is strip-mined: it compares its counter with an end in any case, so an earlier
    end, after which it polls, costs nothing per iteration.
    """

    def __init__(self, emitter: LlvmEmitter, op: Op, rounds: Vec, bounds: Sequence[Vec]) -> None:
        """Begin with the bounds: lower, upper and step."""
        self._emitter, self._rounds = emitter, rounds
        self._outer, self._most = enter(emitter), most_rounds(rounds.elem, *bounds)
        is_long = self._most is None or self._most > BRIEF
        polled = emitter.record.cancel is not None and is_long
        innermost = not any(each.has(Trait.LOOP) for each in op.regions[0].walk())
        self._until = emitter.slot(rounds.elem) if polled and innermost else None
        """The iteration up to which the loop does not poll."""
        if self._until is not None:
            emitter.store(self._patience(), self._until)

    def begin(self, count: Vec, inside: str, done: str) -> None:
        """Continue with an iteration, if there is one more."""
        emitter, body = self._emitter, self._emitter.body
        if self._until is None:
            emitter.branch(count.compare("", "ult", self._rounds), inside, done)
            return
        words = ("edge", "look", "onward", "over")
        edge, look, onward, over = (emitter.label(word) for word in words)
        until = emitter.load(self._until, count.elem)
        end = until.intrinsic("umin", self._rounds)
        emitter.branch(count.compare("", "ult", end), inside, edge)
        body.label(edge)
        emitter.branch(count.compare("", "ult", self._rounds), look, over)
        body.label(look)
        _look(emitter, _patience(emitter), onward)
        body.label(onward)
        emitter.store(count.intrinsic("uadd.sat", self._patience()), self._until)
        body.jump(inside)
        body.label(over)
        left = (until - count).intrinsic("umax", 1)
        left = left if left.elem == "i64" else left.cast("zext", "i64")
        emitter.store(left, _patience(emitter), align=8)
        body.jump(done)

    def end(self) -> None:
        """End an iteration."""
        if self._until is None:
            look_up(self._emitter, self._outer, self._most)
        else:
            self._emitter.unseen = self._outer

    def _patience(self) -> Vec:
        """Return the number of iterations until the next poll."""
        left = self._emitter.load(_patience(self._emitter), "i64", align=8)
        kind = self._rounds.elem
        return left if kind == "i64" else left.cast("trunc", kind)


def most_rounds(kind: str, lower: Vec, upper: Vec, step: Vec) -> int | None:
    """Return the most iterations of a `for` over such integers; None if unbounded."""
    try:
        first, end, by = (int(each.name) for each in (lower, upper, step))
    except ValueError:
        return SHORT.get(kind)
    if by <= 0:  # it runs not at all, or is unsigned, and half of all numbers
        return 2
    return -((first - end) // by) if first <= end else SHORT.get(kind)  # it may be unsigned


def _patience(emitter: LlvmEmitter) -> Vec:
    """Return the address of the number of iterations until the next poll."""
    if emitter.patience is None:
        emitter.patience = emitter.slot("i64")
        emitter.slots.append(f"  store i64 {FIRST}, {emitter.patience}, align 8")
    return emitter.patience


def _look(emitter: LlvmEmitter, left: Vec, onward: str) -> None:
    """Ask the driver how many iterations to run until the next poll; 0 cancels the launch."""
    body, leave = emitter.body, emitter.label("leave")
    word = f"getelementptr i64, ptr %launch, i64 {CpuLaunchWord.LOOK.value}"
    driver = emitter.load(body.emit(word, "ptr", 1), "ptr", align=8)
    following = body.emit(f"call i64 {driver.name}(ptr %launch) {LOOK}", "i64", 1)
    emitter.store(following, left, align=8)
    emitter.branch(following.eq(0), leave, onward)
    body.label(leave)
    emitter.do("ret void")


# -------------------------------------------------------------------------------------------------
# Position of this block in the grid: computed from its linear number, the last axis fastest.


def launch_word(emitter: LlvmEmitter, word: int) -> Vec:
    """Return the address of a word of the launch record."""
    return emitter.body.emit(f"getelementptr i64, ptr %launch, i64 {word}", "ptr", 1)


def grid_axis(emitter: LlvmEmitter, axis: int) -> Vec:
    """Return the grid's size along an axis."""
    return emitter.load(launch_word(emitter, CpuLaunchWord.GRID + axis), "i64", align=8)


def block_ids(emitter: LlvmEmitter, number: Vec, sizes: list[Vec]) -> list[Vec]:
    """Return the logical index of a block from its linear number."""
    ids: list[Vec] = []
    for size in reversed(sizes):
        rest = number.binary("udiv", size)
        ids.insert(0, number - rest * size)
        number = rest
    return ids


def place(emitter: LlvmEmitter, number: Vec, sizes: list[Vec]) -> tuple[Vec, list[Vec]]:
    """Return the linear number and the index of the block that runs at a turn."""
    ids = block_ids(emitter, number, sizes)
    grouping = emitter.plan.grouping
    if grouping is None:
        return number, ids
    rows, columns = (sizes[axis] for axis in (grouping.row_axis, grouping.column_axis))
    turn = ids[grouping.row_axis] * columns + ids[grouping.column_axis]
    row, column = grouped(turn, rows, columns, grouping.rows)
    ids[grouping.row_axis], ids[grouping.column_axis] = row, column
    linear = emitter.integer(0)
    for at, size in zip(ids, sizes, strict=True):
        linear = linear * size + at
    return linear, ids


def grouped(turn: Vec, rows: Vec, columns: Vec, together: int) -> tuple[Vec, Vec]:
    """Return the row and column of a turn, where so many rows are walked column after column."""
    group = turn.binary("udiv", columns * together)
    first = group * together
    height = (rows - first).intrinsic("umin", together)
    inside = turn - first * columns
    column = inside.binary("udiv", height)
    return first + (inside - column * height), column


def neighbours(emitter: LlvmEmitter, axis: int, number: Vec, sizes: list[Vec]) -> Vec:
    """Return the number of adjacent blocks along an axis, from this one to the end of the run."""
    left = sizes[axis] - emitter.block_ids[axis]
    left = left.intrinsic("smin", Vec(emitter.body, "%end", "i64", 1) - number)
    inner = emitter.integer(1)
    for size in sizes[axis + 1 :]:
        inner = inner * size
    return where(inner.eq(1), left, emitter.integer(1))


def _block_id(emitter: LlvmEmitter, op: Op) -> None:
    axis: int = op.attrs["axis"]
    emitter.names[op.result] = emitter.block_ids[axis].cast("trunc", "i32")


def _num_blocks(emitter: LlvmEmitter, op: Op) -> None:
    emitter.names[op.result] = grid_axis(emitter, op.attrs["axis"]).cast("trunc", "i32")


def _tile_index(emitter: LlvmEmitter, op: Op) -> None:
    number, *counts = (_wide(emitter, v) for v in (op.one("number"), *op.all("counts")))
    index = tile_index(number, counts, op.attrs["groups"], _numbers(emitter))
    starts = [_wide(emitter, v) for v in op.all("starts")] or [emitter.integer(0)] * len(index)
    for result, at, start in zip(op.results, index, starts, strict=True):
        emitter.names[result] = (at + start).cast("trunc", "i32")


def _wide(emitter: LlvmEmitter, value: Value) -> Vec:
    return emitter.scalar(value).cast("zext", "i64")


def _numbers(emitter: LlvmEmitter) -> Numbers[Vec]:
    return Numbers(
        constant=emitter.integer,
        add=lambda a, b: a + b,
        subtract=lambda a, b: a - b,
        multiply=lambda a, b: a * b,
        # The index of a loop that does not run may be computed before it: nothing may trap.
        divide=lambda a, b: a.binary("udiv", b.intrinsic("umax", 1)),
        least=lambda a, b: a.intrinsic("umin", b),
    )


GRID_TABLE: dict[str, Callable[[LlvmEmitter, Op], None]] = {
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "tile_index": _tile_index,
}


# -------------------------------------------------------------------------------------------------
# Assertions, failed checks and prints: records in the launch's memory. They never trap.

FAIL = "@tw_fail"
COPY = "@tw_copy"
HEADER_WORDS = 3
"""Size, site and block begin a print record."""


def report(emitter: LlvmEmitter, ok: Vec, op: Op, index: Vec, extent: Vec) -> None:
    """Record a failure unless ok; the first one of a launch stays, and no further block starts."""
    fail_helper(emitter)
    site = emitter.integer(emitter.plan.sites[op])

    def fail() -> None:
        words = ", ".join(map(str, (site, emitter.linear_block, index, extent)))
        emitter.do(f"call void {FAIL}(ptr %launch, {words})")

    perform_if(emitter, ok ^ 1, fail)


def fail_helper(emitter: LlvmEmitter) -> str:
    """Return the function that records a failure: launch, site, location, index, bound."""
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


def _assert(emitter: LlvmEmitter, op: Op) -> None:
    zero = emitter.integer(0)
    report(emitter, emitter.scalar(op.one("cond")), op, zero, zero)


def _print(emitter: LlvmEmitter, statement: Print) -> None:
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


def print_room(emitter: LlvmEmitter, total: Vec) -> tuple[Vec, Vec, Vec]:
    """Reserve space for a record; return where it starts, in which buffer, and whether it fits."""
    record = emitter.record
    used = launch_word(emitter, record.used)
    start = emitter.body.emit(f"atomicrmw add {used}, {total} seq_cst, align 8", "i64", 1)
    room = emitter.load(launch_word(emitter, record.capacity), "i64", align=8)
    if record.buffer is None:
        base = launch_word(emitter, record.end)
    else:
        base = emitter.load(launch_word(emitter, record.buffer), "ptr", align=8)
    return start, base, (start + total).compare("", "ule", room)


def _bytes(arg: Value | TileBuffer) -> int:
    return arg.bytes if isinstance(arg, TileBuffer) else itemsize(arg.tile.elem)


def _at(emitter: LlvmEmitter, address: Vec, offset: int) -> Vec:
    return emitter.shifted(address, emitter.integer(offset), "i8")


def _write_operand(emitter: LlvmEmitter, arg: Value | TileBuffer, address: Vec) -> None:
    if isinstance(arg, Value):
        elem = arg.tile.elem
        emitter.store(to_memory(emitter.scalar(arg), elem), address, alignment(elem))
        return
    emitter.helper(COPY, _copy_text)
    size = emitter.integer(arg.bytes)
    emitter.do(f"call void {COPY}({address}, {emitter.buffers[arg]}, {size})")


def _copy_text() -> str:
    """Copy a text byte by byte: prints are rare, and memcpy would be an external symbol."""
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


DEBUG_TABLE: dict[str, Callable[..., None]] = {"assert": _assert, "print": _print}


# -------------------------------------------------------------------------------------------------
# Structured control flow as basic blocks; carried scalars are in stack slots (LLVM's mem2reg makes
# them registers).


def _for(emitter: LlvmEmitter, loop: For) -> None:
    """Emit a `for` with a trip count, so that a bound near the end of its type terminates."""
    lower, upper, step = (emitter.scalar(v).frozen() for v in loop.op.operands[:3])
    signed = loop.iv.tile.dtype.is_signed
    runs = lower.compare("", "slt" if signed else "ult", upper)
    runs = runs & (step > 0 if signed else step.ne(0))
    safe = where(runs, step, step.like(1))
    rounds = (upper - lower - 1).binary("udiv", safe) + 1
    rounds = where(runs, rounds, rounds.like(0))
    counter = emitter.slot(lower.elem)
    emitter.store(lower.like(0), counter)
    head, inside, again, done = (emitter.label(w) for w in ("for", "body", "next", "done"))
    body, turns = emitter.body, Rounds(emitter, loop.op, rounds, (lower, upper, step))
    body.jump(head)
    body.label(head)
    count = emitter.load(counter, lower.elem)
    turns.begin(count, inside, done)
    body.label(inside)
    emitter.names[loop.iv] = lower + count * step
    emitter.loops.append(Labels(again, done))
    emitter.statements(loop.body)
    emitter.loops.pop()
    body.label(again)
    emitter.store(emitter.load(counter, lower.elem) + 1, counter)
    turns.end()
    body.jump(head)
    body.label(done)


def _loop(emitter: LlvmEmitter, loop: Repeat) -> None:
    head, again, done = (emitter.label(word) for word in ("loop", "next", "done"))
    outer = enter(emitter)
    emitter.body.jump(head)
    emitter.body.label(head)
    emitter.loops.append(Labels(again, done))
    emitter.statements(loop.body)
    emitter.loops.pop()
    emitter.body.label(again)
    look_up(emitter, outer)
    emitter.body.jump(head)
    emitter.body.label(done)


def _if(emitter: LlvmEmitter, statement: If) -> None:
    then, orelse, after = (emitter.label(word) for word in ("then", "else", "after"))
    emitter.branch(emitter.scalar(statement.cond), then, orelse)
    for label, inner in ((then, statement.then), (orelse, statement.orelse)):
        emitter.body.label(label)
        emitter.statements(inner)
        if not (inner and isinstance(inner[-1], JumpStmt)):
            emitter.body.jump(after)
    emitter.body.label(after)


def _scope(emitter: LlvmEmitter, statement: ScopeStmt) -> None:
    done = emitter.label("left")
    emitter.scopes.append(done)
    emitter.statements(statement.body)
    emitter.scopes.pop()
    emitter.body.label(done)


def jump(emitter: LlvmEmitter, statement: JumpStmt) -> None:
    """Emit the jump of a terminator."""
    targets: dict[str, Callable[[], str]] = {
        "continue": lambda: emitter.loops[-1].again,
        "break": lambda: emitter.loops[-1].done,
        "leave": lambda: emitter.scopes[-1],
        "return": lambda: emitter.next_block,
    }
    emitter.body.jump(targets[statement.kind]())


CONTROL_TABLE: dict[str, Callable[..., None]] = {
    "for": _for,
    "loop": _loop,
    "if": _if,
    "scope": _scope,
    "yield": jump,
    "continue": jump,
    "break": jump,
    "leave": jump,
    "return": jump,
}

TABLE: dict[str, Callable[..., None]] = {
    **CONTROL_TABLE, **GRID_TABLE, **DEBUG_TABLE,
}  # fmt: skip
