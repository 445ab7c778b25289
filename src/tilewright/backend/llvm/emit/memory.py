"""Tensors and views: extents, checks, and tile accesses that never touch what lies outside.

Before a nest each access gets its window: where the tile starts and which part of it is inside the
tensor (and inside this block's region). A nest whose windows are all whole runs code without tests.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.core import Op, Value
from ....ir.types import ViewType
from ..functions.text import Value as Vec
from ..functions.text import where
from ..plan.index import Index, loops_in, terms
from ..plan.statements import AtomicView, ReadView, WriteView
from ..plan.values import Access
from . import access as lanes_access
from .atomics import update
from .debug import report
from .emitter import Emitter, Tensor
from .frame import Frame, Window
from .nontemporal import store_nontemporal
from .prefetch import distance, prefetch
from .types import literal, memory_type

# Scalars.


def _extent(emitter: Emitter, op: Op) -> None:
    axis: int = op.attrs["axis"]
    extent = emitter.tensors[op.one("tensor")].extents[axis]
    emitter.names[op.result] = extent.cast("trunc", "i32")


def _make_tensor(emitter: Emitter, op: Op) -> None:
    dims = iter(op.all("dims"))

    def number(n: int | None) -> Vec:
        return emitter.integer(n) if n is not None else _wide(emitter, next(dims))

    extents = tuple(number(n) for n in op.attrs["shape"])
    strides = tuple(number(n) for n in op.attrs["strides"])
    address = lanes_access.as_pointer(emitter, emitter.scalar(op.one("base")))
    emitter.tensors[op.result] = Tensor(address, extents, strides)


def _wide(emitter: Emitter, value: Value) -> Vec:
    """A scalar integer as i64, by its own sign."""
    number = emitter.scalar(value)
    if number.elem == "i64":
        return number
    return number.cast("sext" if value.tile.dtype.is_signed else "zext", "i64")


def _make_view(emitter: Emitter, op: Op) -> None:
    """A view is its tensor at run time."""
    emitter.tensors[op.result] = emitter.tensors[op.one("tensor")]


def _num_tiles(emitter: Emitter, op: Op) -> None:
    view = op.one("view").view
    axis: int = op.attrs["axis"]
    step = (view.step or view.tile)[axis]
    tensor = emitter.tensors[op.one("view")]
    dim = view.dim_map[axis]
    extent = emitter.integer(view.frame[dim]) if view.frame else tensor.extents[dim]
    count = (extent + (step - 1)).binary("sdiv", step)
    emitter.names[op.result] = count.cast("trunc", "i32")


def _check(emitter: Emitter, op: Op) -> None:
    index, extent = emitter.scalar(op.one("index")), emitter.scalar(op.one("extent"))
    ok = (index >= 0) & (index < extent)
    wide = [x.cast("sext", "i64") for x in (index, extent)]
    report(emitter, ok, op, *wide)
    emitter.names[op.result] = ok


# Windows.


def window(emitter: Emitter, access: Access) -> Window:
    """Where the tile of an access starts, and which part of it is inside."""
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


def _along(emitter: Emitter, access: Access, k: int, extent: Vec) -> tuple[Vec, Vec, Vec]:
    """Along one axis: the first coordinate, and the range of elements that are inside."""
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


def _length(emitter: Emitter, access: Access, k: int) -> Vec:
    """Elements along one axis of a tile, or of those of all blocks that run as one."""
    length = emitter.integer(access.view.tile[k])
    joined = emitter.plan.joined
    is_spread = joined is not None and joined.spread.get(access) == k
    return length * emitter.blocks if is_spread else length


def _start(emitter: Emitter, access: Access, k: int) -> Vec:
    """The first element of the tile, in the block's region or in the tensor."""
    view = access.view
    index = emitter.scalar(access.where[k]).cast("sext", "i64")
    # The other indices of a sparse view are elements, not tiles.
    step = 1 if view.sparse is not None else (view.step or view.tile)[k]
    return index * step


def is_whole(emitter: Emitter, access: Access, window_: Window) -> Vec:
    """Whether the whole tile is inside: a scalar."""
    flags = [truth for truth in [window_.ok] if truth is not None]
    for n, low, high in zip(access.view.tile, window_.low, window_.high, strict=True):
        flags += [low.compare("", "sle", 0), high >= n]
    return emitter.any_of(flags or [emitter.integer(1, "i1")])


# Elements.


class Element:
    """One element per lane of a window: its address and whether it is inside."""

    def __init__(self, frame: Frame, access: Access, index: Index, row: Vec | None) -> None:
        self.frame = frame
        self.emitter = frame.emitter
        self.view: ViewType = access.view
        self.window = frame.windows[access]
        self.row = row
        self.places = [frame.sum(terms(axis)) for axis in index]
        moving = [k for k, place in enumerate(self.places) if place.step and k != self.view.sparse]
        self.lane_axis = moving[0] if moving else None

    def is_dense(self) -> bool:
        """Whether the lanes are neighbours in memory."""
        k = self.lane_axis
        if k is None or (self.row is not None and self.row.lanes > 1):
            return False
        stride = self.view.tensor.strides[self.view.dim_map[k]]
        return stride == 1 and self.places[k].step == 1

    def first(self) -> Vec:
        """The address of the first lane's element."""
        offset = self.emitter.integer(0)
        for k, place in enumerate(self.places):
            if k != self.view.sparse:
                offset = offset + place.base * self.window.strides[k]
        if self.row is not None and self.row.lanes == 1:
            offset = offset + self._row() * self.window.strides[self._sparse()]
        return self.emitter.shifted(self.window.origin, offset, self.kind)

    def each(self, lanes: int) -> Vec:
        """The address of every lane's element."""
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
        """Whether what all lanes share is inside: a scalar."""
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
        """From which lane to which (dense) lanes are inside."""
        k = self.lane_axis
        assert k is not None, "only lanes that move have a stretch"
        base = self.places[k].base
        end = where(self.common(), self.window.high[k] - base, self.emitter.integer(0))
        return self.window.low[k] - base, end

    def mask(self, lanes: int) -> Vec:
        """Which lanes are inside."""
        flags = [self.emitter.splat(self.common(), lanes)]
        k = self.lane_axis
        if k is not None:
            flags += self._inside(self.frame.spread(self.places[k], lanes), k)
        if self.row is not None and self.row.lanes > 1:
            flags += self._inside(self._row(), self._sparse())
        return self.emitter.any_of(flags)


def element_of(frame: Frame, statement: ReadView | WriteView | AtomicView) -> Element:
    """The element that a statement touches where the loops stand."""
    row = None
    if statement.row is not None:
        row = frame.value(statement.row, frame.width(statement.row))
    return Element(frame, statement.access, statement.index, row)


def _load_view(frame: Frame, read: ReadView) -> None:
    load = _load_tested if frame.edge else _load_whole
    element = element_of(frame, read)
    lanes = frame.lanes(read.result)
    frame.registers[read.result] = load(frame.emitter, element, lanes)
    if read.prefetch is not None and element.is_dense():
        away = distance(frame.emitter, read, frame.windows[read.access])
        prefetch(frame.emitter, element.first(), away, element.view.tensor.dtype, lanes)


def _load_whole(emitter: Emitter, element: Element, lanes: int) -> Vec:
    elem = element.view.tensor.dtype
    if lanes == 1 or element.is_dense():
        return lanes_access.load_dense(emitter, element.first(), elem, lanes)
    everywhere = lanes_access.truths(emitter, lanes)
    padding = emitter.body.constant(memory_type(elem), lanes, 0)
    return lanes_access.gather(emitter, element.each(lanes), everywhere, padding, elem)


def _load_tested(emitter: Emitter, element: Element, lanes: int) -> Vec:
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


def _store_view(frame: Frame, write: WriteView) -> None:
    store = _store_tested if frame.edge else _store_whole
    lanes = frame.nest.lanes if frame.is_vector(loops_in(write.index)) else 1
    element = element_of(frame, write)
    value = frame.value(write.value, lanes)
    if write in frame.past and not frame.edge:
        dtype = element.view.tensor.dtype
        store_nontemporal(frame.emitter, frame.past[write], value, element.first(), dtype)
    else:
        store(frame.emitter, element, value)


def _store_whole(emitter: Emitter, element: Element, value: Vec) -> None:
    elem, lanes = element.view.tensor.dtype, value.lanes
    if lanes == 1 or element.is_dense():
        lanes_access.store_dense(emitter, value, element.first(), elem)
        return
    everywhere = lanes_access.truths(emitter, lanes)
    lanes_access.scatter(emitter, value, element.each(lanes), everywhere, elem)


def _store_tested(emitter: Emitter, element: Element, value: Vec) -> None:
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


def _atomic_red_view(frame: Frame, effect: AtomicView) -> None:
    """Always one element at a time."""
    emitter = frame.emitter
    element = element_of(frame, effect)
    value, address = frame.value(effect.value, 1), element.first()
    elem = effect.access.view.tensor.dtype

    def act() -> None:
        update(emitter, effect.op, elem, address, value)

    lanes_access.perform_if(emitter, element.common(), act)


TABLE: dict[str, Callable[..., None]] = {
    "extent": _extent,
    "make_tensor": _make_tensor,
    "make_view": _make_view,
    "num_tiles": _num_tiles,
    "check": _check,
    "load_view": _load_view,
    "store_view": _store_view,
    "atomic_red_view": _atomic_red_view,
}
