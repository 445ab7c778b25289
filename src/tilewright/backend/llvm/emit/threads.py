"""Where a thread of a GPU stands. On a CPU the threads are lanes: `backend.llvm.lanes`."""

from __future__ import annotations

from collections.abc import Callable

from ....base.dtypes import i32, int_range
from ....ir.attrs import WARP_SIZE, Place
from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import where
from .emitter import Emitter

NOWHERE = int_range(i32)[1]
"""An index beyond every slice."""
REGISTERS = {
    Place.THREAD: "tid", Place.BLOCK: "ctaid", Place.BLOCK_SIZE: "ntid",
    Place.GRID_SIZE: "nctaid",
}  # fmt: skip
AXES = "xyz"


def register(emitter: Emitter, what: Place, axis: int) -> Vec:
    """Where a thread or a block stands along an axis, or a size, i32."""
    return _special(emitter, f"{REGISTERS[what]}.{AXES[axis]}")


def _special(emitter: Emitter, name: str) -> Vec:
    symbol = f"@llvm.nvvm.read.ptx.sreg.{name}"
    emitter.body.declarations.add(f"declare i32 {symbol}()")
    return emitter.body.emit(f"call i32 {symbol}()", "i32", 1)


def _along(emitter: Emitter, axis: int) -> Vec:
    """The thread's place in the whole launch along an axis."""
    parts = (Place.BLOCK, Place.BLOCK_SIZE, Place.THREAD)
    block, size, thread = (register(emitter, what, axis) for what in parts)
    return block * size + thread


def _is_single(emitter: Emitter, axis: int) -> Vec:
    """Whether the launch has one thread along an axis."""
    threads, blocks = (register(emitter, p, axis) for p in (Place.BLOCK_SIZE, Place.GRID_SIZE))
    return (threads | blocks).eq(1)  # neither is ever 0


def _index_1d(emitter: Emitter, op: Op) -> None:
    index = _along(emitter, 0)
    valid = _is_single(emitter, 1) & _is_single(emitter, 2)
    emitter.names[op.result] = where(valid, index, NOWHERE)


def _index_2d(emitter: Emitter, op: Op) -> None:
    row, column = (_along(emitter, axis).cast("zext", "i64") for axis in (1, 0))
    width = emitter.scalar(op.one("width")).cast("sext", "i64")
    number = row * width + column
    valid = (column < width) & (number < NOWHERE) & _is_single(emitter, 2)
    emitter.names[op.result] = where(valid, number, NOWHERE).cast("trunc", "i32")


def _place(emitter: Emitter, op: Op) -> None:
    what = op.attrs["what"]
    if what is Place.WARP:
        emitter.names[op.result] = _number_in_block(emitter).lshr(WARP_SIZE.bit_length() - 1)
    elif what is Place.LANE:
        emitter.names[op.result] = _special(emitter, "laneid")
    else:
        emitter.names[op.result] = register(emitter, what, op.attrs["axis"])


def _number_in_block(emitter: Emitter) -> Vec:
    """The number of the thread in its block, x fastest."""
    number = register(emitter, Place.THREAD, 0)
    width = register(emitter, Place.BLOCK_SIZE, 0)
    for axis in range(1, len(emitter.plan.func.signature.block or ())):
        number = number + width * register(emitter, Place.THREAD, axis)
        width = width * register(emitter, Place.BLOCK_SIZE, axis)
    return number


def thread_number(emitter: Emitter) -> Vec:
    """The number of the thread in the launch, x fastest, blocks before threads: i64."""
    number = emitter.integer(0)
    for what, size in ((Place.BLOCK, Place.GRID_SIZE), (Place.THREAD, Place.BLOCK_SIZE)):
        for axis in (2, 1, 0):
            length = register(emitter, size, axis).cast("zext", "i64")
            number = number * length + register(emitter, what, axis).cast("zext", "i64")
    return number


TABLE: dict[str, Callable[[Emitter, Op], None]] = {
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "place": _place,
}
