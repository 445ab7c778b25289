"""Tensors, views, raw pointers: checks, tile accesses, non-temporal stores, prefetches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.cpu_abi import CpuLaunchWord
from ....ir.core import Op, Value
from ....ir.types import Elem, PtrType, ViewType
from ...llvm.builder import Vec, where
from ..loopnest.index import Index, loops_in, terms
from ..loopnest.nodes import (
    AtomicView,
    ElementAccess,
    ReadPointer,
    ReadView,
    WritePointer,
    WriteView,
    itemsize,
)
from ..loopnest.optimize import LINE, nontemporal_stores
from . import access as lanes_access
from .access import alignment, load_through, perform_if, store_dense, store_through, to_memory
from .atomics import update, update_private, update_private_stretch, update_stretch
from .control import launch_word, report
from .emitter import Compute, LlvmEmitter, TensorPointer, literal, memory_type
from .frame import NestFrame, Window

# -------------------------------------------------------------------------------------------------
# Non-temporal stores, in launches whose outputs exceed the caches.

LONG = 32 << 10
"""Bytes of a row whose first and last lines do not matter."""
X86_FENCE = "@llvm.x86.sse.sfence()"


def begin(emitter: LlvmEmitter) -> None:
    """Evaluate a condition of the launch once, before all blocks."""
    if nontemporal_stores(emitter.plan):
        word = emitter.load(launch_word(emitter, CpuLaunchWord.STREAM), "i64", align=8)
        emitter.cached = word.eq(0).cast("sext", "i64")


def is_nontemporal(emitter: LlvmEmitter, first: Vec, length: Vec, lanes: int, elem: Elem) -> Vec:
    """Return whether a row of adjacent elements is stored non-temporally: a scalar.

    If the launch wants it, the row's vectors are aligned, and it fills its lines; one that is
    written in two ways costs more than is saved, unless it is one of very many.
    """
    assert emitter.cached is not None, "the launch has been asked"
    size = alignment(elem)
    place = emitter.body.emit(f"ptrtoint {first} to i64", "i64", 1)
    end = place + length * size
    # No address is zero: in a launch that does not stream, none is aligned enough.
    aligned = (place & (emitter.cached | (min(lanes * size, LINE) - 1))).eq(0)
    return aligned & (((place | end) & (LINE - 1)).eq(0) | (length >= LONG // size))


def store_nontemporal(
    emitter: LlvmEmitter, past: Vec, value: Vec, address: Vec, elem: Elem
) -> None:
    """Store adjacent elements, by a non-temporal or an ordinary store."""
    stored = to_memory(value, elem)
    align = min(stored.lanes * alignment(elem), LINE)
    past_, through, after = (emitter.label(word) for word in ("past", "through", "stored"))
    emitter.branch(past, past_, through)
    emitter.body.label(past_)
    emitter.do(f"store {stored}, {address}, align {align}, !nontemporal !0")
    emitter.body.jump(after)
    emitter.body.label(through)
    store_dense(emitter, value, address, elem)
    emitter.body.jump(after)
    emitter.body.label(after)


def metadata(emitter: LlvmEmitter) -> list[str]:
    """Return the metadata node that `!nontemporal` refers to."""
    return [] if emitter.cached is None else ["!0 = !{i32 1}"]


def end(emitter: LlvmEmitter) -> None:
    """Emit a fence: later stores must not be visible before the non-temporal ones."""
    if emitter.cached is None:
        return
    fence = "fence seq_cst"
    if emitter.cpu.is_x86:
        emitter.body.declarations.add(f"declare void {X86_FENCE}")
        fence = f"call void {X86_FENCE}"
    perform_if(emitter, emitter.cached.eq(0), lambda: emitter.do(fence))


# -------------------------------------------------------------------------------------------------
# Prefetches of the next block's tile: the same element, one tile distance away.

PREFETCH = "@llvm.prefetch.p0"
FOR_READING, INTO_SECOND_LEVEL, OF_DATA = 0, 2, 1


def distance(emitter: LlvmEmitter, read: ReadView, window: Window) -> Vec:
    """Return the distance, in elements, from this block's tile to the next block's."""
    assert read.prefetch is not None, "only such loads are prefetched"
    view = read.access.view
    total = emitter.integer(0)
    for k, axis in enumerate(read.prefetch):
        if axis is not None:
            step = (view.step or view.tile)[k]
            total = total + emitter.to_next[axis] * step * window.strides[k]
    return total


def prefetch(emitter: LlvmEmitter, address: Vec, away: Vec, elem: Elem, lanes: int) -> None:
    """Prefetch the cache lines of elements at a distance."""
    emitter.body.declarations.add(f"declare void {PREFETCH}(ptr, i32, i32, i32)")
    first = emitter.shifted(address, away, memory_type(elem))
    hints = f"i32 {FOR_READING}, i32 {INTO_SECOND_LEVEL}, i32 {OF_DATA}"
    for at in range(0, lanes * itemsize(elem), LINE):
        line = emitter.shifted(first, emitter.integer(at), "i8")
        emitter.do(f"call void {PREFETCH}({line}, {hints})")


# -------------------------------------------------------------------------------------------------
# Tensors and views: extents, checks, and tile accesses, which never touch elements out of bounds.
#
# Before a nest each access computes its window: the start of the tile and the part of it that is in
# bounds of the tensor and of this block's region. A nest with full windows only runs unmasked code.

# Scalars.


def _extent(emitter: LlvmEmitter, op: Op) -> None:
    axis: int = op.attrs["axis"]
    extent = emitter.tensors[op.one("tensor")].extents[axis]
    emitter.names[op.result] = extent.cast("trunc", "i32")


def _make_tensor(emitter: LlvmEmitter, op: Op) -> None:
    dims = iter(op.all("dims"))

    def number(n: int | None) -> Vec:
        return emitter.integer(n) if n is not None else _wide(emitter, next(dims))

    extents = tuple(number(n) for n in op.attrs["shape"])
    strides = tuple(number(n) for n in op.attrs["strides"])
    address = lanes_access.as_pointer(emitter, emitter.scalar(op.one("base")))
    emitter.tensors[op.result] = TensorPointer(address, extents, strides)


def _wide(emitter: LlvmEmitter, value: Value) -> Vec:
    """Return a scalar integer as i64, by its own sign."""
    number = emitter.scalar(value)
    if number.elem == "i64":
        return number
    return number.cast("sext" if value.tile.dtype.is_signed else "zext", "i64")


def _make_view(emitter: LlvmEmitter, op: Op) -> None:
    """Bind a view to its tensor, since a view has no code."""
    emitter.tensors[op.result] = emitter.tensors[op.one("tensor")]


def _num_tiles(emitter: LlvmEmitter, op: Op) -> None:
    view = op.one("view").view
    axis: int = op.attrs["axis"]
    step = (view.step or view.tile)[axis]
    tensor = emitter.tensors[op.one("view")]
    dim = view.dim_map[axis]
    extent = emitter.integer(view.frame[dim]) if view.frame else tensor.extents[dim]
    count = (extent + (step - 1)).binary("sdiv", step)
    emitter.names[op.result] = count.cast("trunc", "i32")


def _check(emitter: LlvmEmitter, op: Op) -> None:
    index, extent = emitter.scalar(op.one("index")), emitter.scalar(op.one("extent"))
    ok = (index >= 0) & (index < extent)
    wide = [x.cast("sext", "i64") for x in (index, extent)]
    report(emitter, ok, op, *wide)
    emitter.names[op.result] = ok


# Windows.


def window(emitter: LlvmEmitter, access: ElementAccess) -> Window:
    """Return the start of the tile of an access, and the part of it that is in bounds."""
    view, tensor = access.view, emitter.tensors[access.tensor]
    origin = emitter.integer(0)
    low: list[Vec] = []
    high: list[Vec] = []
    strides: list[Vec] = []
    for k in range(view.rank):
        start, first, end = _along(emitter, access, k, tensor.extents[view.dim_map[k]])
        stride = tensor.strides[view.dim_map[k]]
        origin = origin + start * stride
        low.append(first)
        high.append(end)
        strides.append(stride)
    ok = emitter.scalar(access.guard) if access.guard is not None else None
    base = emitter.shifted(tensor.address, origin, memory_type(view.tensor.dtype))
    return Window(base, tuple(strides), tuple(low), tuple(high), ok)


def _along(
    emitter: LlvmEmitter, access: ElementAccess, k: int, extent: Vec
) -> tuple[Vec, Vec, Vec]:
    """Return the first coordinate along one axis, and the range of elements in bounds."""
    view = access.view
    zero = emitter.integer(0)
    local = zero if k == view.sparse else _start(emitter, access, k)
    start, first = local, (zero - local).intrinsic("smax", 0)
    bounds: list[Vec] = []
    if view.frame is not None:
        axis = view.dim_map[k]
        start = local + emitter.block_ids[axis] * view.frame[axis]
        bounds.append(zero - local + view.frame[axis])
        first = first.intrinsic("smax", zero - start)
    bounds.append(extent - start)
    if k != view.sparse:
        bounds.append(_length(emitter, access, k))
    end = bounds[0]
    for bound in bounds[1:]:
        end = end.intrinsic("smin", bound)
    return start, first, end


def _length(emitter: LlvmEmitter, access: ElementAccess, k: int) -> Vec:
    """Return elements along one axis of a tile, or of those of all blocks that run as one."""
    length = emitter.integer(access.view.tile[k])
    joined = emitter.plan.joined
    is_spread = joined is not None and joined.spread.get(access) == k
    return length * emitter.blocks if is_spread else length


def _start(emitter: LlvmEmitter, access: ElementAccess, k: int) -> Vec:
    """Return the first element of the tile, in the block's region or in the tensor."""
    view = access.view
    index = emitter.scalar(access.where[k]).cast("sext", "i64")
    # The other indices of a sparse view are elements, not tiles.
    step = 1 if view.sparse is not None else (view.step or view.tile)[k]
    return index * step


def is_whole(emitter: LlvmEmitter, access: ElementAccess, window_: Window) -> Vec:
    """Return whether the tile is full: a scalar."""
    flags = [truth for truth in [window_.ok] if truth is not None]
    for n, low, high in zip(access.view.tile, window_.low, window_.high, strict=True):
        flags += [low.compare("", "sle", 0), high >= n]
    return emitter.any_of(flags or [emitter.integer(1, "i1")])


# Elements.


class Element:
    """One element per lane of a window: its address and whether it is inside."""

    def __init__(
        self, frame: NestFrame, access: ElementAccess, index: Index, row: Vec | None
    ) -> None:
        self.frame = frame
        self.emitter = frame.emitter
        self.view: ViewType = access.view
        self.window = frame.windows[access]
        self.row = row
        self.places = [frame.sum(terms(axis)) for axis in index]
        moving = [k for k, place in enumerate(self.places) if place.step and k != self.view.sparse]
        self.lane_axis = moving[0] if moving else None

    def is_dense(self) -> bool:
        """Return whether the lanes are neighbours in memory."""
        k = self.lane_axis
        if k is None or (self.row is not None and self.row.lanes > 1):
            return False
        stride = self.view.tensor.strides[self.view.dim_map[k]]
        return stride == 1 and self.places[k].step == 1

    def interleaving(self) -> tuple[int, int] | None:
        """Return the step and the phase of lanes that take one of each few neighbours."""
        k = self.lane_axis
        if k is None or (self.row is not None and self.row.lanes > 1):
            return None
        step, phase = self.places[k].step, self.places[k].phase
        if self.view.tensor.strides[self.view.dim_map[k]] != 1 or phase is None:
            return None
        return (step, phase) if lanes_access.is_interleaved(step, phase) else None

    def first(self) -> Vec:
        """Return the address of the first lane's element."""
        offset = self.emitter.integer(0)
        for k, place in enumerate(self.places):
            if k != self.view.sparse:
                offset = offset + place.base * self.window.strides[k]
        if self.row is not None and self.row.lanes == 1:
            offset = offset + self._row() * self.window.strides[self._sparse()]
        return self.emitter.shifted(self.window.origin, offset, self.kind)

    def each(self, lanes: int) -> Vec:
        """Return the address of every lane's element."""
        offsets = self.emitter.body.constant("i64", lanes, 0)
        k = self.lane_axis
        if k is not None:
            steps = self.emitter.lanes_of("i64", lanes, self.places[k].step)
            offsets = offsets + steps * self.emitter.splat(self.window.strides[k], lanes)
        if self.row is not None and self.row.lanes > 1:
            stride = self.emitter.splat(self.window.strides[self._sparse()], lanes)
            offsets = offsets + self._row() * stride
        return lanes_access.addresses(self.emitter, self.first(), offsets, self.view.tensor.dtype)

    @property
    def kind(self) -> str:
        """The type of an element in memory."""
        return memory_type(self.view.tensor.dtype)

    def _sparse(self) -> int:
        assert self.view.sparse is not None, "only a sparse view has rows"
        return self.view.sparse

    def _row(self) -> Vec:
        assert self.row is not None, "only a sparse view has rows"
        return self.row.cast("sext", "i64")

    def common(self) -> Vec:
        """Return a scalar condition: the part of the bounds test that all lanes share."""
        flags = [self.window.ok] if self.window.ok is not None else []
        for k, place in enumerate(self.places):
            if k not in (self.lane_axis, self.view.sparse):
                flags += self._inside(place.base, k)
        if self.row is not None and self.row.lanes == 1:
            flags += self._inside(self._row(), self._sparse())
        return self.emitter.any_of(flags or [self.emitter.integer(1, "i1")])

    def _inside(self, coordinate: Vec, k: int) -> list[Vec]:
        lanes = coordinate.lanes
        low = self.emitter.splat(self.window.low[k], lanes)
        high = self.emitter.splat(self.window.high[k], lanes)
        return [coordinate >= low, coordinate < high]

    def stretch(self) -> tuple[Vec, Vec]:
        """Return the first and the end of the (dense) lanes that are in bounds."""
        k = self.lane_axis
        assert k is not None, "only lanes that move have a stretch"
        base = self.places[k].base
        end = where(self.common(), self.window.high[k] - base, self.emitter.integer(0))
        return self.window.low[k] - base, end

    def mask(self, lanes: int) -> Vec:
        """Return a mask of the lanes that are in bounds."""
        flags = [self.emitter.splat(self.common(), lanes)]
        k = self.lane_axis
        if k is not None:
            flags += self._inside(self.frame.spread(self.places[k], lanes), k)
        if self.row is not None and self.row.lanes > 1:
            flags += self._inside(self._row(), self._sparse())
        return self.emitter.any_of(flags)


def element_of(frame: NestFrame, statement: ReadView | WriteView | AtomicView) -> Element:
    """Return the element that a statement accesses at the current loop variables."""
    row = None
    if statement.row is not None:
        row = frame.value(statement.row, frame.width(statement.row))
    return Element(frame, statement.access, statement.index, row)


def _load_view(frame: NestFrame, read: ReadView) -> None:
    load = _load_tested if frame.edge else _load_whole
    element = element_of(frame, read)
    lanes = frame.lanes(read.result)
    frame.registers[read.result] = load(frame.emitter, element, lanes)
    if read.prefetch is not None and element.is_dense():
        away = distance(frame.emitter, read, frame.windows[read.access])
        prefetch(frame.emitter, element.first(), away, element.view.tensor.dtype, lanes)


def _load_whole(emitter: LlvmEmitter, element: Element, lanes: int) -> Vec:
    elem = element.view.tensor.dtype
    if lanes == 1 or element.is_dense():
        return lanes_access.load_dense(emitter, element.first(), elem, lanes)
    if (interleaving := element.interleaving()) is not None:
        return lanes_access.load_interleaved(emitter, element.first(), elem, lanes, *interleaving)
    everywhere = lanes_access.truths(emitter, lanes)
    padding = emitter.body.constant(memory_type(elem), lanes, 0)
    return lanes_access.gather(emitter, element.each(lanes), everywhere, padding, elem)


def _load_tested(emitter: LlvmEmitter, element: Element, lanes: int) -> Vec:
    view, elem = element.view, element.view.tensor.dtype
    pad = literal(emitter.body, elem, 0 if view.padding is None else view.padding, lanes)
    padding = lanes_access.to_memory(pad, elem)
    if lanes == 1:
        return lanes_access.load_if(emitter, element.common(), element.first(), padding, elem)
    if element.is_dense():
        low, high = element.stretch()
        return lanes_access.load_stretch(emitter, element.first(), low, high, padding, elem)
    addresses = element.each(lanes)
    return lanes_access.gather(emitter, addresses, element.mask(lanes), padding, elem)


def _store_view(frame: NestFrame, write: WriteView) -> None:
    store = _store_tested if frame.edge else _store_whole
    lanes = frame.nest.lanes if frame.is_vector(loops_in(write.index)) else 1
    element = element_of(frame, write)
    value = frame.value(write.value, lanes)
    if write in frame.past and not frame.edge:
        dtype = element.view.tensor.dtype
        store_nontemporal(frame.emitter, frame.past[write], value, element.first(), dtype)
    else:
        store(frame.emitter, element, value)


def _store_whole(emitter: LlvmEmitter, element: Element, value: Vec) -> None:
    elem, lanes = element.view.tensor.dtype, value.lanes
    if lanes == 1 or element.is_dense():
        lanes_access.store_dense(emitter, value, element.first(), elem)
        return
    everywhere = lanes_access.truths(emitter, lanes)
    lanes_access.scatter(emitter, value, element.each(lanes), everywhere, elem)


def _store_tested(emitter: LlvmEmitter, element: Element, value: Vec) -> None:
    elem, lanes = element.view.tensor.dtype, value.lanes
    if lanes == 1:
        address = element.first()

        def store() -> None:
            lanes_access.store_dense(emitter, value, address, elem)

        lanes_access.perform_if(emitter, element.common(), store)
    elif element.is_dense():
        low, high = element.stretch()
        lanes_access.store_stretch(emitter, value, element.first(), low, high, elem)
    else:
        addresses = element.each(lanes)
        lanes_access.scatter(emitter, value, addresses, element.mask(lanes), elem)


def _atomic_red_view(frame: NestFrame, effect: AtomicView) -> None:
    """Emit the update: of neighbours together, else one element at a time."""
    emitter = frame.emitter
    element = element_of(frame, effect)
    lanes = frame.nest.lanes if frame.is_vector(loops_in(effect.index)) else 1
    value, address = frame.value(effect.value, lanes), element.first()
    dtype = effect.access.view.tensor.dtype
    copy = emitter.private.get(effect.access.tensor)
    low, high = element.stretch() if lanes > 1 else (None, None)

    def act() -> None:
        if copy is not None:
            update_private(emitter, copy, address, value)
        else:
            update(emitter, effect.op, dtype, address, value)

    if low is None or high is None:
        lanes_access.perform_if(emitter, element.common(), act)
    elif copy is not None:
        update_private_stretch(emitter, copy, address, low, high, value)
    else:
        update_stretch(emitter, effect.op, dtype, address, low, high, value)


MEMORY_TABLE: dict[str, Callable[..., None]] = {
    "extent": _extent,
    "make_tensor": _make_tensor,
    "make_view": _make_view,
    "num_tiles": _num_tiles,
    "check": _check,
    "load_view": _load_view,
    "store_view": _store_view,
    "atomic_red_view": _atomic_red_view,
}


# -------------------------------------------------------------------------------------------------
# Raw pointers: addresses are 64-bit integers; adjacent lanes are accessed together.


def _offset(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    address, by = args
    elem = op.result.tile.elem
    assert isinstance(elem, PtrType), "only pointers are moved"
    if by.elem != "i64":
        by = by.cast("sext" if op.operands[1].tile.dtype.is_signed else "zext", "i64")
    return address + by * itemsize(elem.to)


def _same(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    return args[0]


def _load_ptr(frame: NestFrame, read: ReadPointer) -> None:
    emitter, lanes = frame.emitter, frame.lanes(read.result)
    elem = read.result.elem
    address = frame.value(read.address, lanes)
    mask = frame.value(read.mask, lanes) if read.mask is not None else None
    padding = (
        frame.value(read.padding, lanes) if read.padding is not None
        else emitter.literal(elem, 0, lanes)
    )  # fmt: skip
    padding = to_memory(padding, elem)
    loaded = load_through(emitter, address, mask, padding, elem, read.ordered)
    frame.registers[read.result] = loaded


def _store_ptr(frame: NestFrame, write: WritePointer) -> None:
    lanes = frame.nest.lanes
    address, value = frame.value(write.address, lanes), frame.value(write.value, lanes)
    mask = frame.value(write.mask, lanes) if write.mask is not None else None
    store_through(frame.emitter, value, address, mask, write.elem, write.ordered)


COMPUTE: dict[str, Compute] = {
    "offset": _offset,
    "ptr_to_int": _same,
    "int_to_ptr": _same,
    "ptr_to_ptr": _same,
}
POINTER_TABLE: dict[str, Callable[..., object]] = {
    **COMPUTE,
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
}

TABLE: dict[str, Callable[..., object]] = {
    **MEMORY_TABLE, **POINTER_TABLE,
}  # fmt: skip
