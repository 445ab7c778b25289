"""Binds the arguments of launches: has the core borrow tensors and arrays, and checks numbers.

All memory is borrowed by one native call, which also finds the kinds of the tensors; so a further
tensor costs little. A call that the core refuses is bound once more by `binding`, which says what
is wrong, or describes arguments that the core does not know by themselves.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from struct import pack, unpack_from
from types import CodeType
from typing import Any, TypeAlias

from .._core import (
    BEHIND_REGIONS,
    bind_tensors,
    bytes_address,
    regions_of_arrays,
    slot_offset,
    ticket_of_epoch,
)
from .._core import Binder as NativeBinder
from ..base.errors import Error, InternalError
from ..devices.native_records import BIND_WORDS, BindWord, new_words
from ..op.ambient import default_device
from ..op.core import has_op
from ..tensors.arc import Arc, Core
from ..tensors.borrow import LOCK, Ticket
from ..tensors.order import regions_of
from ..tensors.ownership import Ours
from ..tensors.partition import MappedPartition, Partition
from ..tensors.pointer import DevicePointer
from ..tensors.region import Region
from ..tensors.tensor import BorrowMut, Tensor, new_tensor
from .arguments import Bound, Foreign, ForeignOnGpu, Held, is_borrow
from .binding import Binder
from .form import Form, Known
from .protocol import Declared
from .recent import Recent

FORMS = 256
"""Forms a kernel remembers by the kinds of plain arguments."""

FormOf = Callable[[Bound], Form]
"""Finds the form of a launch whose kind is not known yet."""

Where: TypeAlias = "int | tuple[CodeType, int]"
"""How many calls up the stack the program stands, or further; or where it stands."""

Regions: TypeAlias = "tuple[Region | None, ...]"
"""The memory of the arrays of other libraries among the arguments; None for all others."""

KINDS, KNOWN = int(BindWord.KINDS), int(BindWord.KNOWN)


class PlainBinder(NativeBinder):
    """Binds plain calls of one kernel."""

    def __init__(self, kernel: Declared, binder: Binder, form_of: FormOf) -> None:
        self._form_of, self._binder = form_of, binder
        self.arity = len(kernel.parameters)
        """How many arguments a call has by position."""
        scalars = (*binder.scalars, *range(self.arity, self.arity + len(binder.keyword_numbers)))
        given = self.arity + len(binder.keyword_numbers)
        self._outputs, self._inputs = picking(binder.outputs, given), picking(binder.inputs, given)
        self._pointers = picking(binder.pointers, given)
        self._numbers = picking(scalars, given)
        self.has_numbers = bool(scalars)
        """Whether there are numbers among the arguments."""
        self._writing = f"borrowed for writing by `{kernel.name}`"
        self._reading = f"read by `{kernel.name}`"
        self._outputs_count = len(binder.outputs)
        self._written = len(binder.outputs) + len(binder.pointers)
        places = (*binder.outputs, *binder.pointers, *binder.inputs)
        self._count = len(places)
        self._places = (ctypes.c_int64 * self._count)(*places)
        self._whole = (ctypes.c_int64 * self._outputs_count)(*binder.whole)
        self._found = ctypes.create_string_buffer(8 * (self._count + self._written))
        """Kinds: written and read under the lock."""
        self._words = new_words(BIND_WORDS)
        self._words[:] = [
            self._count, self._written, ctypes.addressof(self._places),
            ctypes.addressof(self._found), 0, 0, id(Tensor), id(Arc), id(Partition),
            id(MappedPartition), id(BorrowMut), given, id(self._writing), id(self._reading),
            slot_offset(Arc, "_core"), slot_offset(Core, "tensor"), ctypes.addressof(self._whole),
            len(binder.pointers), id(DevicePointer), slot_offset(DevicePointer, "region"),
        ]  # fmt: skip
        self.call = ctypes.addressof(self._words)
        self.number_places = pack(f"{len(scalars)}q", *scalars)
        self._last: Known | None = None
        """What native code refers to."""
        self._forms: Recent[bytes, Known] = Recent(FORMS)

    def bind(self, values: tuple[Any, ...], where: Where) -> Held | None:
        """Bind and borrow the tensors of a call; None: some arguments must be described first.

        `values` are the positional arguments, and then what `with_numbers` adds.

        The program is `up` callers up the stack, or further; or at `location`.
        """
        if has_op(values):
            return None
        where = above(where)
        held = bind_tensors(self.call, values, where, None)
        if held is None:
            return self._bind_arrays(values, where)
        return held if held[-1] is not None else self._bind_others(values, where, None)

    def _bind_arrays(self, values: tuple[Any, ...], where: Where) -> Held | None:
        """Do as `bind`, for a call with arrays of other libraries; None: one does not fit."""
        where = above(where)
        regions = regions_of_arrays(self.call, values)
        if regions is None:
            return None
        held = bind_tensors(self.call, values, where, regions)
        try:
            known = held is None or held[-1] is not None
            return held if known else self._bind_others(values, where, regions)
        except Error:  # who describes the arguments says what array it is
            return None

    def bind_described(self, values: Sequence[Any], bound: Bound, where: Where) -> Bound:
        """Bind and borrow the arguments of a call as `bound` describes them; return it so.

        Nothing is wrong with any of them by itself.
        """
        given: list[Any] = list(values)
        regions: list[Region | None] = [None] * len(given)
        for place, output in zip(self._binder.outputs, bound.outputs, strict=True):
            given[place], regions[place] = output, output.tensor.region
        for place, tensor in zip(self._binder.inputs, bound.inputs, strict=True):
            if isinstance(tensor, Foreign):
                regions[place] = tensor.region
        arguments = tuple(given)
        held = self._bind_others(arguments, above(where), tuple(regions))
        if held is None:
            raise InternalError(f"the arguments of `{bound.form.kernel}` cannot be borrowed")
        borrowed = self.bound(arguments, held)
        borrowed.numbers = bound.numbers
        return borrowed

    def with_numbers(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        """Return the arguments of a call, followed by its keyword numbers.

        None: one is missing.
        """
        if not self._binder.keyword_numbers:
            return args
        given = [keywords.get(p.name, p.default) for p in self._binder.keyword_numbers]
        return None if inspect.Parameter.empty in given else (*args, *given)

    def adapted(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call with tensors for its arrays of other libraries, if none of
        these must be looked at closer.
        """
        values = self.with_numbers(args, keywords)
        regions = None if values is None else regions_of_arrays(self.call, values)
        return args if regions is None else self._with_tensors(args, regions[: len(args)])

    def _with_tensors(self, values: tuple[Any, ...], regions: Regions | None) -> tuple[Any, ...]:
        """Return the arguments with tensors for the arrays that are where the outputs are.

        Launches on such arrays are launches on such tensors.
        """
        if regions is None or not self._outputs_count:
            return values
        device = self._outputs(values)[0].tensor.device

        def seen(value: Any, region: Region | None) -> Any:
            if region is None or isinstance(value, Ours) or region.storage.device is not device:
                return value
            return new_tensor(region)

        return tuple([seen(*each) for each in zip(values, regions, strict=True)])

    def numbers(self, values: tuple[Any, ...], held: Held) -> Sequence[Any]:
        """Return the numbers of a call as Python numbers that fit their parameters' types."""
        accepted: Sequence[Any] = held[-1].form.accept(self._numbers(values))
        return accepted

    def _bind_others(
        self, values: tuple[Any, ...], where: Where, regions: Regions | None
    ) -> Held | None:
        """Do as `bind`, for tensors that are not of the kinds of the last call."""
        where = above(where)
        with LOCK:
            held = bind_tensors(self.call, values, where, regions)
            kinds = self._found.raw
        if held is None or held[-1] is not None:
            return held
        known = self._forms.get(kinds)
        if known is None:
            known = self._new_form(kinds, self._with_tensors(values, regions), held)
        with LOCK:
            self._last = known
            self._words[KINDS], self._words[KNOWN] = bytes_address(known.kinds), id(known)
            return bind_tensors(self.call, values, where, regions)

    def bound(self, values: tuple[Any, ...], held: Held) -> Bound:
        """Return the arguments of a call by kind, without its numbers."""
        bound = self._described(values, held, ())
        has_former, tickets, use, row, known = held[-BEHIND_REGIONS:]
        bound.reads_own = not has_former
        bound.held, bound.form = held, known.form
        bound.device = known.home or default_device()
        bound.location, bound.tickets = use.location, []
        epochs = unpack_from(f"{self._count}q", row, 8 * self._count)
        parts: Sequence[Ticket | None] = tickets or (None,) * self._count
        borrows = list(zip(parts, epochs, strict=True))
        bound.shares = [part or epoch for part, epoch in borrows[self._written :]]
        for partition, (part, epoch) in zip(bound.outputs, borrows, strict=False):
            parent = partition.ticket
            bound.tickets.append(part or ticket_of_epoch(parent.state, use, parent, epoch))
        return bound

    def _described(self, values: tuple[Any, ...], held: Held, numbers: Sequence[Any]) -> Bound:
        regions = regions_of(held)
        memory = [*regions[: self._outputs_count], *regions[self._written :]]
        outputs, inputs = self._outputs(values), self._inputs(values)
        if not all(isinstance(value, Ours) for value in inputs):
            inputs = [
                value if isinstance(value, Ours) else _as_foreign(region, value)
                for region, value in zip(regions[self._written :], inputs, strict=True)
            ]
        outputs = [
            self._binder.as_output(value) if whole and is_borrow(value) else value
            for value, whole in zip(outputs, self._whole, strict=True)
        ]
        pointers = self._pointers(values)
        return Bound(outputs, inputs, memory, self._outputs_count, pointers, numbers)

    def _new_form(self, kinds: bytes, values: tuple[Any, ...], held: Held) -> Known:
        numbers = self._numbers(values) if self.has_numbers else ()
        known = Known(kinds, self._form_of(self._described(values, held, numbers)))
        self._forms.keep(kinds, known)
        return known


def _as_foreign(region: Region, value: object) -> Foreign:
    kind = Foreign if region.storage.device.host_visible else ForeignOnGpu
    return kind(region, value)


def above(where: Where) -> Where:
    """Return the location one caller further up."""
    return where + 1 if isinstance(where, int) else where


def picking(places: Sequence[int], count: int) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that selects the values at some places of a tuple of `count`."""
    if len(places) == count:
        return list  # a slice would be the tuple itself, and ownership is known by reference counts
    first = places[0] if places else 0
    if list(places) == list(range(first, first + len(places))):
        return itemgetter(slice(first, first + len(places)))
    return itemgetter(*places)
