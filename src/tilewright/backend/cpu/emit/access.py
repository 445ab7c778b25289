"""Vector accesses of memory: dense, strided, masked, gathered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.types import Elem
from ...llvm.builder import Vec, any_lane, branch, vector
from .emitter import CUDA, LlvmEmitter, memory_type

SUFFIX = {"float": "f32", "double": "f64", "ptr": "p0"}


def mangled(elem: str, lanes: int) -> str:
    """Return the spelling of a vector type in the names of intrinsics."""
    return f"v{lanes}{SUFFIX.get(elem, elem)}"


def from_memory(value: Vec, elem: Elem) -> Vec:
    """Return a loaded element as it is held in registers."""
    return value.ne(0) if memory_type(elem) != _register(elem) else value


def to_memory(value: Vec, elem: Elem) -> Vec:
    """Return an element as it is stored."""
    return value.cast("zext", "i8") if memory_type(elem) != _register(elem) else value


def _register(elem: Elem) -> str:
    return "i1" if getattr(elem, "is_bool", False) else memory_type(elem)


def alignment(elem: Elem) -> int:
    """Return the alignment of an element: its size, also in tensors of users."""
    return {"i8": 1, "i16": 2, "i32": 4, "float": 4}.get(memory_type(elem), 8)


def load_dense(emitter: LlvmEmitter, address: Vec, elem: Elem, lanes: int) -> Vec:
    """Load adjacent elements."""
    return from_memory(emitter.load(address, memory_type(elem), lanes, alignment(elem)), elem)


def store_dense(emitter: LlvmEmitter, value: Vec, address: Vec, elem: Elem) -> None:
    """Store adjacent elements."""
    emitter.store(to_memory(value, elem), address, alignment(elem))


MOST_PHASES = 4
"""Elements that a deinterleaving load may read for one that it wants."""


def is_interleaved(step: int, phase: int | None) -> bool:
    """Return whether lanes take one of each `step` neighbours, few enough to read all of them."""
    return phase is not None and 1 < step <= MOST_PHASES


def load_interleaved(
    emitter: LlvmEmitter, first: Vec, elem: Elem, lanes: int, step: int, phase: int
) -> Vec:
    """Load one of each `step` neighbours: all of them, and shuffle. Loads of other phases share
    the vectors; a gather would take about a cycle per lane."""
    kind = memory_type(elem)
    start = emitter.shifted(first, emitter.integer(-phase), kind)
    wide = emitter.load(start, kind, lanes * step, alignment(elem))
    order = ", ".join(f"i32 {phase + step * lane}" for lane in range(lanes))
    text = f"shufflevector {wide}, {wide.type} poison, <{lanes} x i32> <{order}>"
    return from_memory(emitter.body.emit(text, kind, lanes), elem)


def store_interleaved(emitter: LlvmEmitter, values: Sequence[Vec], first: Vec, elem: Elem) -> None:
    """Store vectors so that their elements alternate: the first of each, the second of each, ..."""
    stored = [to_memory(value, elem) for value in values]
    wide = stored[0]
    for other in stored[1:]:
        wide = _joined(emitter, wide, other)
    lanes, step = stored[0].lanes, len(stored)
    order = ", ".join(f"i32 {n % step * lanes + n // step}" for n in range(lanes * step))
    text = f"shufflevector {wide}, {wide.type} poison, <{lanes * step} x i32> <{order}>"
    emitter.store(emitter.body.emit(text, wide.elem, lanes * step), first, alignment(elem))


def _joined(emitter: LlvmEmitter, left: Vec, right: Vec) -> Vec:
    """Return the lanes of both; the shorter one is widened first, as a shuffle needs one type."""
    count = left.lanes + right.lanes
    if right.lanes < left.lanes:
        order = ", ".join(
            f"i32 {n}" if n < right.lanes else "i32 poison" for n in range(left.lanes)
        )
        text = f"shufflevector {right}, {right.type} poison, <{left.lanes} x i32> <{order}>"
        right = emitter.body.emit(text, right.elem, left.lanes)
    order = ", ".join(f"i32 {n}" for n in range(count))
    text = f"shufflevector {left}, {right}, <{count} x i32> <{order}>"
    return emitter.body.emit(text, left.elem, count)


def addresses(emitter: LlvmEmitter, base: Vec, offsets: Vec, elem: Elem) -> Vec:
    """Return one address per lane, from offsets in elements."""
    # A vector of pointers: one instruction computes the addresses of all lanes.
    text = f"getelementptr {memory_type(elem)}, {base}, {offsets}"
    return emitter.body.emit(text, "ptr", offsets.lanes)


def gather(emitter: LlvmEmitter, where_: Vec, mask: Vec, padding: Vec, elem: Elem) -> Vec:
    """Return one element per lane from any address; padding (memory form) where masked off."""
    kind, lanes = memory_type(elem), where_.lanes
    symbol = f"@llvm.masked.gather.{mangled(kind, lanes)}.{mangled('ptr', lanes)}"
    types = f"{where_.type}, i32, {mask.type}, {vector(kind, lanes)}"
    emitter.body.declarations.add(f"declare {vector(kind, lanes)} {symbol}({types})")
    args = f"{where_}, i32 {alignment(elem)}, {mask}, {padding}"
    loaded = emitter.body.emit(f"call {vector(kind, lanes)} {symbol}({args})", kind, lanes)
    return from_memory(loaded, elem)


def scatter(emitter: LlvmEmitter, value: Vec, where_: Vec, mask: Vec, elem: Elem) -> None:
    """Store one element per lane to any address; the last lane wins."""
    kind, lanes = memory_type(elem), where_.lanes
    symbol = f"@llvm.masked.scatter.{mangled(kind, lanes)}.{mangled('ptr', lanes)}"
    types = f"{vector(kind, lanes)}, {where_.type}, i32, {mask.type}"
    emitter.body.declarations.add(f"declare void {symbol}({types})")
    stored = to_memory(value, elem)
    emitter.do(f"call void {symbol}({stored}, {where_}, i32 {alignment(elem)}, {mask})")


def truths(emitter: LlvmEmitter, lanes: int) -> Vec:
    """Return a mask that is true everywhere."""
    return emitter.body.constant("i1", lanes, 1)


def load_if(
    emitter: LlvmEmitter, ok: Vec, address: Vec, padding: Vec, elem: Elem, *, ordered: bool = False
) -> Vec:
    """Return one element if the condition holds, else padding (in memory form)."""
    kind = memory_type(elem)

    def load() -> list[Vec]:
        if ordered:
            # Ordered accesses are scalar (`lanes == 1`): there are no atomic vectors.
            text = f"load atomic {kind}, {address} seq_cst, align {alignment(elem)}"
            return [emitter.body.emit(text, kind, 1)]
        return [emitter.load(address, kind, 1, alignment(elem))]

    (loaded,) = branch(ok, [padding], load)
    return from_memory(loaded, elem)


def perform_if(emitter: LlvmEmitter, ok: Vec, action: Callable[[], None]) -> None:
    """Emit a branch that performs an action if the condition holds."""

    def act() -> list[Vec]:
        action()
        return []

    branch(ok, [], act)


# Neighbouring elements of which only a stretch may be touched: most often all of them.


# In-bounds lanes of a boundary vector are contiguous, so a range [low, high) describes them; the
# mask is computed only on the rare path.
def load_stretch(
    emitter: LlvmEmitter, address: Vec, low: Vec, high: Vec, padding: Vec, elem: Elem
) -> Vec:
    """Load lanes low .. high - 1; the others are padding (in memory form)."""
    kind, lanes = memory_type(elem), padding.lanes
    # A helper with a branch instead of a plain masked load: complete vectors are by far the most
    # frequent, and a masked load is slower on many CPUs even if its mask is full.
    symbol = f"@tw_load_stretch_{mangled(kind, lanes)}"
    emitter.helper(symbol, lambda: _load_stretch(emitter, symbol, kind, lanes, alignment(elem)))
    loaded = emitter.call(symbol, kind, [address, low, high, padding], lanes)
    return from_memory(loaded, elem)


def store_stretch(
    emitter: LlvmEmitter, value: Vec, address: Vec, low: Vec, high: Vec, elem: Elem
) -> None:
    """Store lanes low .. high - 1."""
    kind, lanes = memory_type(elem), value.lanes
    symbol = f"@tw_store_stretch_{mangled(kind, lanes)}"
    emitter.helper(symbol, lambda: _store_stretch(emitter, symbol, kind, lanes, alignment(elem)))
    stored = to_memory(value, elem)
    emitter.do(f"call void {symbol}({address}, {low}, {high}, {stored})")


def _stretch_head(lanes: int) -> str:
    """Return code that branches to `all` or `some`; %mask has the lanes in bounds."""
    places = ", ".join(f"i32 {i}" for i in range(lanes))
    return f"""\
  %from_start = icmp sle i64 %low, 0
  %to_end = icmp sge i64 %high, {lanes}
  %inside = and i1 %from_start, %to_end
  br i1 %inside, label %all, label %some
some:
  %a = call i64 @llvm.smax.i64(i64 %low, i64 0)
  %b = call i64 @llvm.smin.i64(i64 %high, i64 {lanes})
  %a1 = call i64 @llvm.smin.i64(i64 %a, i64 {lanes})
  %b1 = call i64 @llvm.smax.i64(i64 %b, i64 0)
  %a2 = trunc i64 %a1 to i32
  %b2 = trunc i64 %b1 to i32
  %a3 = insertelement <{lanes} x i32> poison, i32 %a2, i64 0
  %b3 = insertelement <{lanes} x i32> poison, i32 %b2, i64 0
  %a4 = shufflevector <{lanes} x i32> %a3, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer
  %b4 = shufflevector <{lanes} x i32> %b3, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer
  %after = icmp sge <{lanes} x i32> <{places}>, %a4
  %before = icmp slt <{lanes} x i32> <{places}>, %b4
  %mask = and <{lanes} x i1> %after, %before
"""


def _declare_bounds(emitter: LlvmEmitter) -> None:
    for word in ("smax", "smin"):
        emitter.body.declarations.add(f"declare i64 @llvm.{word}.i64(i64, i64)")


def _load_stretch(emitter: LlvmEmitter, symbol: str, kind: str, lanes: int, align: int) -> str:
    wide, mask = vector(kind, lanes), f"<{lanes} x i1>"
    masked = f"@llvm.masked.load.{mangled(kind, lanes)}.p0"
    emitter.body.declarations.add(f"declare {wide} {masked}(ptr, i32, {mask}, {wide})")
    _declare_bounds(emitter)
    return f"""\
define internal {wide} {symbol}(ptr %p, i64 %low, i64 %high, {wide} %pad) nounwind alwaysinline {{
{_stretch_head(lanes)}\
  %part = call {wide} {masked}(ptr %p, i32 {align}, {mask} %mask, {wide} %pad)
  ret {wide} %part
all:
  %full = load {wide}, ptr %p, align {align}
  ret {wide} %full
}}
"""


def _store_stretch(emitter: LlvmEmitter, symbol: str, kind: str, lanes: int, align: int) -> str:
    wide, mask = vector(kind, lanes), f"<{lanes} x i1>"
    masked = f"@llvm.masked.store.{mangled(kind, lanes)}.p0"
    emitter.body.declarations.add(f"declare void {masked}({wide}, ptr, i32, {mask})")
    _declare_bounds(emitter)
    return f"""\
define internal void {symbol}(ptr %p, i64 %low, i64 %high, {wide} %x) nounwind alwaysinline {{
{_stretch_head(lanes)}\
  call void {masked}({wide} %x, ptr %p, i32 {align}, {mask} %mask)
  ret void
all:
  store {wide} %x, ptr %p, align {align}
  ret void
}}
"""


# Through addresses, which most often are neighbours.


def _neighbours(emitter: LlvmEmitter, addresses_: Vec, mask: Vec | None, elem: Elem) -> Vec:
    """Return whether all lanes are wanted and their addresses follow each other: a scalar."""
    lanes = addresses_.lanes
    size = {"i8": 1, "i16": 2, "i32": 4, "float": 4}.get(memory_type(elem), 8)
    first = first_lane(emitter, addresses_)
    # Addresses of user pointers are usually dense; one vector comparison replaces a gather, which
    # takes about one cycle per lane.
    expected = emitter.splat(first, lanes) + emitter.lanes_of("i64", lanes, size)
    other = addresses_.ne(expected)
    if mask is not None:
        other = other | (mask ^ 1)
    return any_lane(other) ^ 1


def first_lane(emitter: LlvmEmitter, x: Vec) -> Vec:
    """Return the value of the first lane."""
    return emitter.body.emit(f"extractelement {x}, i64 0", x.elem, 1)


def as_pointer(emitter: LlvmEmitter, address: Vec) -> Vec:
    """Return an address as something to load from; on a GPU all of them are of global memory."""
    kind = "ptr addrspace(1)" if emitter.record is CUDA else "ptr"
    return emitter.body.emit(
        f"inttoptr {address} to {vector(kind, address.lanes)}", kind, address.lanes
    )


def load_through(
    emitter: LlvmEmitter, where_: Vec, mask: Vec | None, padding: Vec, elem: Elem, ordered: bool
) -> Vec:
    """Return one element per lane from i64 addresses; padding (in memory form) where not mask."""
    lanes = where_.lanes
    if lanes == 1:
        ok = mask if mask is not None else truths(emitter, 1)
        return load_if(emitter, ok, as_pointer(emitter, where_), padding, elem, ordered=ordered)
    dense = _neighbours(emitter, where_, mask, elem)
    body = emitter.body
    yes, no, after = (emitter.label(word) for word in ("dense", "apart", "loaded"))
    emitter.branch(dense, yes, no)
    body.label(yes)
    first = as_pointer(emitter, first_lane(emitter, where_))
    together = load_dense(emitter, first, elem, lanes)
    last_yes = body.block
    body.jump(after)
    body.label(no)
    wanted = mask if mask is not None else truths(emitter, lanes)
    apart = gather(emitter, as_pointer(emitter, where_), wanted, padding, elem)
    last_no = body.block
    body.jump(after)
    body.label(after)
    text = f"phi {together.type} [ {together.name}, %{last_yes} ], [ {apart.name}, %{last_no} ]"
    return body.emit(text, together.elem, lanes)


def _store_one(emitter: LlvmEmitter, value: Vec, address: Vec, elem: Elem, ordered: bool) -> None:
    if ordered:
        stored, align = to_memory(value, elem), alignment(elem)
        emitter.do(f"store atomic {stored}, {address} seq_cst, align {align}")
    else:
        store_dense(emitter, value, address, elem)


def store_through(
    emitter: LlvmEmitter, value: Vec, where_: Vec, mask: Vec | None, elem: Elem, ordered: bool
) -> None:
    """Store one element per lane to i64 addresses where the mask holds."""
    lanes = where_.lanes
    if lanes == 1:
        ok = mask if mask is not None else truths(emitter, 1)
        target = as_pointer(emitter, where_)
        perform_if(emitter, ok, lambda: _store_one(emitter, value, target, elem, ordered))
        return
    dense = _neighbours(emitter, where_, mask, elem)
    body = emitter.body
    yes, no, after = (emitter.label(word) for word in ("dense", "apart", "stored"))
    emitter.branch(dense, yes, no)
    body.label(yes)
    store_dense(emitter, value, as_pointer(emitter, first_lane(emitter, where_)), elem)
    body.jump(after)
    body.label(no)
    wanted = mask if mask is not None else truths(emitter, lanes)
    scatter(emitter, value, as_pointer(emitter, where_), wanted, elem)
    body.jump(after)
    body.label(after)
