"""SIMT ops for one thread of a GPU: threads, slices, shared memory, warps, inline PTX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...base.dtypes import AnyDType, f32, f64, i32, int_range
from ...base.shapes import size
from ...ir.attrs import WARP_SIZE, ShuffleMode, ThreadCoordinate, VoteMode
from ...ir.core import Op, Value
from ...ir.types import SharedType
from ..cpu.emit.access import from_memory, load_dense, load_if, perform_if, store_dense, to_memory
from ..cpu.emit.atomics import compare_and_swap, update
from ..cpu.emit.control import report
from ..cpu.emit.emitter import Area, LlvmEmitter, memory_type, register_type
from ..llvm.builder import Vec, where

# -------------------------------------------------------------------------------------------------
# Coordinates of a GPU thread. (On a CPU the threads are lanes: `backend.simt_cpu`.)

NOWHERE = int_range(i32)[1]
"""An index beyond every slice."""
REGISTERS = {
    ThreadCoordinate.THREAD: "tid", ThreadCoordinate.BLOCK: "ctaid",
    ThreadCoordinate.BLOCK_SIZE: "ntid",
    ThreadCoordinate.GRID_SIZE: "nctaid",
}  # fmt: skip
AXES = "xyz"


def register(emitter: LlvmEmitter, what: ThreadCoordinate, axis: int) -> Vec:
    """Return a coordinate of a thread or a block along an axis, or a size, as i32."""
    return _special(emitter, f"{REGISTERS[what]}.{AXES[axis]}")


def _special(emitter: LlvmEmitter, name: str) -> Vec:
    symbol = f"@llvm.nvvm.read.ptx.sreg.{name}"
    emitter.body.declarations.add(f"declare i32 {symbol}()")
    return emitter.body.emit(f"call i32 {symbol}()", "i32", 1)


def _along(emitter: LlvmEmitter, axis: int) -> Vec:
    """Return the thread's place in the whole launch along an axis."""
    parts = (ThreadCoordinate.BLOCK, ThreadCoordinate.BLOCK_SIZE, ThreadCoordinate.THREAD)
    block, size, thread = (register(emitter, what, axis) for what in parts)
    return block * size + thread


def _is_single(emitter: LlvmEmitter, axis: int) -> Vec:
    """Return whether the launch has one thread along an axis."""
    threads, blocks = (
        register(emitter, p, axis)
        for p in (ThreadCoordinate.BLOCK_SIZE, ThreadCoordinate.GRID_SIZE)
    )
    return (threads | blocks).eq(1)  # neither is ever 0


def _index_1d(emitter: LlvmEmitter, op: Op) -> None:
    index = _along(emitter, 0)
    valid = _is_single(emitter, 1) & _is_single(emitter, 2)
    emitter.names[op.result] = where(valid, index, NOWHERE)


def _index_2d(emitter: LlvmEmitter, op: Op) -> None:
    row, column = (_along(emitter, axis).cast("zext", "i64") for axis in (1, 0))
    width = emitter.scalar(op.one("width")).cast("sext", "i64")
    number = row * width + column
    valid = (column < width) & (number < NOWHERE) & _is_single(emitter, 2)
    emitter.names[op.result] = where(valid, number, NOWHERE).cast("trunc", "i32")


def _place(emitter: LlvmEmitter, op: Op) -> None:
    what = op.attrs["what"]
    if what is ThreadCoordinate.WARP:
        emitter.names[op.result] = _number_in_block(emitter).lshr(WARP_SIZE.bit_length() - 1)
    elif what is ThreadCoordinate.LANE:
        emitter.names[op.result] = _special(emitter, "laneid")
    else:
        emitter.names[op.result] = register(emitter, what, op.attrs["axis"])


def _number_in_block(emitter: LlvmEmitter) -> Vec:
    """Return the number of the thread in its block, x fastest."""
    number = register(emitter, ThreadCoordinate.THREAD, 0)
    width = register(emitter, ThreadCoordinate.BLOCK_SIZE, 0)
    for axis in range(1, len(emitter.plan.func.signature.block or ())):
        number = number + width * register(emitter, ThreadCoordinate.THREAD, axis)
        width = width * register(emitter, ThreadCoordinate.BLOCK_SIZE, axis)
    return number


def thread_number(emitter: LlvmEmitter) -> Vec:
    """Return the number of the thread in the launch, x fastest, blocks before threads: i64."""
    number = emitter.integer(0)
    for what, sizes in (
        (ThreadCoordinate.BLOCK, ThreadCoordinate.GRID_SIZE),
        (ThreadCoordinate.THREAD, ThreadCoordinate.BLOCK_SIZE),
    ):
        for axis in (2, 1, 0):
            length = register(emitter, sizes, axis).cast("zext", "i64")
            number = number * length + register(emitter, what, axis).cast("zext", "i64")
    return number


# -------------------------------------------------------------------------------------------------
# Elements of slices, for one thread of a GPU.


def _length(emitter: LlvmEmitter, op: Op) -> None:
    emitter.names[op.result] = emitter.tensors[op.one("slice")].extents[0].cast("trunc", "i32")


def _check_index(emitter: LlvmEmitter, op: Op) -> None:
    index, length = (emitter.scalar(v) for v in op.operands)
    ok = index.compare("", "ult", length)
    emitter.names[op.result] = ok
    report(emitter, ok, op, index.cast("sext", "i64"), length.cast("sext", "i64"))


def _slice_address(emitter: LlvmEmitter, op: Op) -> Vec:
    index = emitter.scalar(op.one("index")).cast("sext", "i64")
    elem = op.one("slice").tensor.dtype
    return emitter.shifted(emitter.tensors[op.one("slice")].address, index, memory_type(elem))


def _load_slice(emitter: LlvmEmitter, op: Op) -> None:
    elem, guard = op.result.tile.dtype, op.maybe("guard")
    address = _slice_address(emitter, op)
    if guard is None:
        emitter.names[op.result] = load_dense(emitter, address, elem, 1)
        return
    padding = to_memory(emitter.literal(elem, 0, 1), elem)
    ok = emitter.scalar(guard)
    emitter.names[op.result] = load_if(emitter, ok, address, padding, elem)


def _store_slice(emitter: LlvmEmitter, op: Op) -> None:
    value, guard = op.one("value"), op.maybe("guard")
    address, elem = _slice_address(emitter, op), value.tile.dtype

    def store() -> None:
        store_dense(emitter, emitter.scalar(value), address, elem)

    if guard is None:
        store()
    else:
        perform_if(emitter, emitter.scalar(guard), store)


def _slice_pointer(emitter: LlvmEmitter, op: Op) -> None:
    emitter.names[op.result] = _slice_address(emitter, op).cast("ptrtoint", "i64")


# -------------------------------------------------------------------------------------------------
# Shared memory of a block on a GPU.

SHARED = "ptr addrspace(3)"
DYNAMIC = "@tw_dynamic_shared"
LINE = 16
"""Bytes that arrays are aligned to: the widest access of a thread."""


def _shared(emitter: LlvmEmitter, op: Op) -> None:
    kind = _kind(op.result)
    symbol = f"@tw_shared_{kind.number}"
    count = size(op.attrs["shape"])
    text = f"internal addrspace(3) global [{count} x {memory_type(kind.dtype)}] undef"
    emitter.helper(symbol, lambda: f"{symbol} = {text}, align {LINE}")
    emitter.areas[op.result] = Area(Vec(emitter.body, symbol, SHARED, 1))


def _dynamic_shared(emitter: LlvmEmitter, op: Op) -> None:
    text = f"external addrspace(3) global [0 x i8], align {LINE}"
    emitter.helper(DYNAMIC, lambda: f"{DYNAMIC} = {text}")
    offset = emitter.scalar(op.one("offset"))
    start = f"getelementptr i8, {SHARED} {DYNAMIC}, {offset}"
    emitter.areas[op.result] = Area(emitter.body.emit(start, SHARED, 1), offset)


def _shared_length(emitter: LlvmEmitter, op: Op) -> None:
    symbol = "@llvm.nvvm.read.ptx.sreg.dynamic_smem_size"
    emitter.body.declarations.add(f"declare i32 {symbol}()")
    room = emitter.body.emit(f"call i32 {symbol}()", "i32", 1)
    memory = op.one("memory")
    offset = emitter.areas[memory].offset
    assert offset is not None, "only what a launch asks for has a length"
    fits = offset.compare("", "ule", room)
    rest = where(fits, room - offset, 0)
    emitter.names[op.result] = rest.lshr(_kind(memory).dtype.itemsize.bit_length() - 1)


def _kind(value: Value) -> SharedType:
    assert isinstance(value.type, SharedType), f"expected shared memory, got {value.type}"
    return value.type


def _shared_address(emitter: LlvmEmitter, op: Op) -> Vec:
    memory = op.one("memory")
    kind = _kind(memory)
    place = emitter.integer(0, "i32")
    for extent, index in zip(kind.shape, op.all("index"), strict=True):
        given = emitter.scalar(index)
        place = given if extent is None else place * extent + given
    text = f"getelementptr {memory_type(kind.dtype)}, {emitter.areas[memory].base}, {place}"
    return emitter.body.emit(text, SHARED, 1)


def _load_shared(emitter: LlvmEmitter, op: Op) -> None:
    address = _shared_address(emitter, op)
    # Unwritten memory may have any bits, but the same ones at each use.
    emitter.names[op.result] = load_dense(emitter, address, op.result.tile.dtype, 1).frozen()


def _store_shared(emitter: LlvmEmitter, op: Op) -> None:
    value = op.one("value")
    store_dense(emitter, emitter.scalar(value), _shared_address(emitter, op), value.tile.dtype)


def _atomic_shared(emitter: LlvmEmitter, op: Op) -> None:
    address, value = _shared_address(emitter, op), emitter.scalar(op.one("value"))
    emitter.names[op.result] = update(emitter, op, op.result.tile.dtype, address, value)


def _cas_shared(emitter: LlvmEmitter, op: Op) -> None:
    address = _shared_address(emitter, op)
    compare, value = (emitter.scalar(op.one(name)) for name in ("compare", "value"))
    emitter.names[op.result] = compare_and_swap(emitter, op, address, compare, value)


def _sync_threads(emitter: LlvmEmitter, op: Op) -> None:
    symbol = "@llvm.nvvm.barrier.cta.sync.aligned.all"
    emitter.body.declarations.add(f"declare void {symbol}(i32)")
    emitter.do(f"call void {symbol}(i32 0)")


# -------------------------------------------------------------------------------------------------
# Warp ops of a GPU.

ALL_LANES = -1
LAST_LANE = WARP_SIZE - 1
WORDS = {
    ShuffleMode.IDX: "idx", ShuffleMode.UP: "up", ShuffleMode.DOWN: "down",
    ShuffleMode.XOR: "bfly",
}  # fmt: skip


def _mask(emitter: LlvmEmitter, op: Op) -> Vec:
    mask = op.maybe("mask")
    return emitter.integer(ALL_LANES, "i32") if mask is None else emitter.scalar(mask)


def _call(emitter: LlvmEmitter, name: str, kind: str, args: Sequence[Vec]) -> Vec:
    symbol = f"@llvm.nvvm.{name}"
    emitter.body.declarations.add(f"declare {kind} {symbol}({', '.join(a.type for a in args)})")
    return emitter.call(symbol, kind, args, 1)


def _sync_warp(emitter: LlvmEmitter, op: Op) -> None:
    symbol = "@llvm.nvvm.bar.warp.sync"
    emitter.body.declarations.add(f"declare void {symbol}(i32)")
    emitter.do(f"call void {symbol}({_mask(emitter, op)})")


def _bits(value: Vec, dtype: AnyDType) -> Vec:
    """Return a value's bits, as an integer of 32 or 64."""
    stored, width = to_memory(value, dtype), f"i{8 * dtype.itemsize}"
    bits = stored if stored.elem == width else stored.cast("bitcast", width)
    return bits.cast("zext", "i32") if dtype.itemsize < 4 else bits


def _value(bits: Vec, dtype: AnyDType) -> Vec:
    """Return the value with these bits."""
    width, kind = f"i{8 * dtype.itemsize}", memory_type(dtype)
    narrow = bits if bits.elem == width else bits.cast("trunc", width)
    return from_memory(narrow if kind == width else narrow.cast("bitcast", kind), dtype)


def _shuffle(emitter: LlvmEmitter, op: Op) -> None:
    dtype = op.result.tile.dtype
    bits = _bits(emitter.scalar(op.one("value")), dtype)
    mask, by, clamp = _mask(emitter, op), _steps(emitter, op), _clamp(emitter, op)

    def take(part: Vec) -> Vec:
        word = WORDS[op.attrs["mode"]]
        return _call(emitter, f"shfl.sync.{word}.i32", "i32", [mask, part, by, clamp])

    if bits.elem == "i32":
        emitter.names[op.result] = _value(take(bits), dtype)
        return
    halves = [take(half.cast("trunc", "i32")) for half in (bits, bits.lshr(32))]
    low, high = (half.cast("zext", "i64") for half in halves)
    emitter.names[op.result] = _value(low | (high << 32), dtype)


def _steps(emitter: LlvmEmitter, op: Op) -> Vec:
    """Return the distance or the lane of a shuffle; the instruction reads five bits."""
    given: Vec = emitter.scalar(op.one("lane"))
    if op.attrs["mode"] in (ShuffleMode.UP, ShuffleMode.DOWN):
        return given.intrinsic("umin", WARP_SIZE)
    width: int = op.attrs["width"]
    return given & (width - 1)


def _clamp(emitter: LlvmEmitter, op: Op) -> Vec:
    """Return the neighbours of a lane, and the last of them that it may take from."""
    last = 0 if op.attrs["mode"] is ShuffleMode.UP else LAST_LANE
    return emitter.integer((WARP_SIZE - op.attrs["width"]) << 8 | last, "i32")


def _vote(emitter: LlvmEmitter, op: Op) -> None:
    word = "all" if op.attrs["mode"] is VoteMode.ALL else "any"
    args = [_mask(emitter, op), emitter.scalar(op.one("cond"))]
    emitter.names[op.result] = _call(emitter, f"vote.{word}.sync", "i1", args)


def _ballot(emitter: LlvmEmitter, op: Op) -> None:
    args = [_mask(emitter, op), emitter.scalar(op.one("cond"))]
    emitter.names[op.result] = _call(emitter, "vote.ballot.sync", "i32", args)


def _match(emitter: LlvmEmitter, op: Op) -> None:
    value = op.one("value")
    bits = _bits(emitter.scalar(value), value.tile.dtype)
    args = [_mask(emitter, op), bits]
    emitter.names[op.result] = _call(emitter, f"match.any.sync.{bits.elem}", "i32", args)


# -------------------------------------------------------------------------------------------------
# Inline PTX, with registers for its operands.

LETTERS: dict[AnyDType, str] = {f32: "f", f64: "d"}
BY_BITS = {16: "h", 32: "r", 64: "l"}


def _letter(dtype: AnyDType) -> str:
    return LETTERS.get(dtype) or BY_BITS[dtype.bits]


def _quoted(text: str) -> str:
    """Quote a text for LLVM, with special characters as hex escapes."""
    return "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\{ord(c):02X}" for c in text)


def _inline_ptx(emitter: LlvmEmitter, op: Op) -> None:
    outs = [f"={_letter(dtype)}" for dtype in op.attrs["dtypes"]]
    ins = [_letter(v.tile.dtype) for v in op.operands]
    args = ", ".join(str(emitter.scalar(v)) for v in op.operands)
    kinds = [register_type(dtype) for dtype in op.attrs["dtypes"]]
    constraints = ",".join([*outs, *ins, "~{memory}"])
    asm = f'asm sideeffect "{_quoted(op.attrs["text"])}", "{constraints}"({args})'
    if not kinds:
        emitter.do(f"call void {asm}")
    elif len(kinds) == 1:
        emitter.names[op.result] = emitter.body.emit(f"call {kinds[0]} {asm}", kinds[0], 1)
    else:
        _unpack(emitter, op, kinds, asm)


def _unpack(emitter: LlvmEmitter, op: Op, kinds: list[str], asm: str) -> None:
    whole = f"{{ {', '.join(kinds)} }}"
    packed: Vec = emitter.body.emit(f"call {whole} {asm}", "", 1)
    for number, (result, kind) in enumerate(zip(op.results, kinds, strict=True)):
        text = f"extractvalue {whole} {packed.name}, {number}"
        emitter.names[result] = emitter.body.emit(text, kind, 1)


TABLE: dict[str, Callable[[LlvmEmitter, Op], None]] = {
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "place": _place,
    "length": _length,
    "check_index": _check_index,
    "load_slice": _load_slice,
    "store_slice": _store_slice,
    "slice_pointer": _slice_pointer,
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "shared_length": _shared_length,
    "load_shared": _load_shared,
    "store_shared": _store_shared,
    "atomic_shared": _atomic_shared,
    "cas_shared": _cas_shared,
    "sync_threads": _sync_threads,
    "sync_warp": _sync_warp,
    "shuffle": _shuffle,
    "vote": _vote,
    "ballot": _ballot,
    "match": _match,
    "inline_ptx": _inline_ptx,
}
