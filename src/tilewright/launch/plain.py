"""Binds the arguments of most launches: tensors that need no closer look, and numbers.

Such tensors have native records. All of them are borrowed by one native call, which also finds
their kinds; so a further tensor costs little. Whatever is not plain is left to `binding` and
`taking`, which find out what is wrong, if anything is, and say so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any

from ..array.borrow import LOCK, Ticket, Use
from ..array.ownership import Handle
from ..array.partition import Partition
from ..array.region import Region
from ..driver.stub.calls import stub
from ..frontend.sources import KernelSource
from ..op.ambient import default_device
from ..op.core import has_op
from ..op.place import Spot
from .arguments import Bound
from .binding import Binder
from .form import Form
from .kinds import is_arc, is_partition
from .recent import Recent

FORMS = 256
"""Forms a kernel remembers by the kinds of plain arguments."""

FormOf = Callable[[Bound], Form]
"""Finds the form of a launch whose kind is not known yet."""


class PlainBinder:
    """Binds plain calls of one kernel."""

    def __init__(self, kernel: KernelSource, binder: Binder, form_of: FormOf) -> None:
        self._form_of = form_of
        given = len(kernel.parameters)
        self._outputs, self._inputs = picking(binder.outputs, given), picking(binder.inputs, given)
        self._numbers = picking(binder.scalars, given)
        self._has_numbers = bool(binder.scalars)
        self._writing = f"borrowed for writing by `{kernel.name}`"
        self._written = len(binder.outputs)
        self._count = len(binder.outputs) + len(binder.inputs)
        self._kinds = 8 * self._count
        """Bytes of the kinds of all tensors."""
        self._pack = Struct(f"{self._count}q").pack
        self._found = ctypes.create_string_buffer(16 * self._count)
        """Kinds, then epochs: written and read under the lock."""
        self._found_at = ctypes.addressof(self._found)
        self._forms: Recent[tuple[Any, ...], Form] = Recent(FORMS)

    def bind(self, values: Sequence[Any], spot: Spot) -> Bound | None:
        """Bind and borrow the arguments of a call; None: some need a closer look."""
        outputs, inputs = self._outputs(values), self._inputs(values)
        numbers: Sequence[Any] = self._numbers(values) if self._has_numbers else ()
        key: list[object] = [b""]
        try:
            memory: list[Region] = []
            for partition in outputs:
                memory.append(partition.tensor.plain_region)
                key.append(partition.tiling)
            memory += [tensor.plain_region for tensor in inputs]
            row = self._pack(*[region.record for region in memory])
        except AttributeError:  # of a tensor that was never asked, or of something else
            return self.bind(values, spot) if note_plain(outputs, inputs) else None
        found = self._share(row)
        if found is None or (numbers and has_op(numbers)):
            return None
        key[0] = found[: self._kinds]
        bound = Bound(outputs, inputs, memory, self._written, (), numbers)
        form = self._forms.get(tuple(key)) or self._new_form(tuple(key), bound)
        if numbers:
            bound.numbers = form.accept(numbers)
        tickets = self._exclude(outputs, memory, spot)
        if tickets is None:
            return None
        bound.form, bound.device = form, form.home or default_device()
        bound.spot, bound.tickets = spot, tickets
        bound.row, bound.epochs = row, found[self._kinds :]
        return bound

    def _share(self, row: bytes) -> bytes | None:
        """The kinds of tensors and the epochs of their memory; None: look closer."""
        LOCK.acquire()  # half of what a `with` takes
        try:
            if stub().share(row, self._written, self._count, self._found_at) < 0:
                return None
            return self._found.raw
        finally:
            LOCK.release()

    def _new_form(self, key: tuple[object, ...], bound: Bound) -> Form:
        form = self._form_of(bound)
        self._forms.keep(key, form)
        return form

    def _exclude(
        self, outputs: Sequence[Any], memory: Sequence[Region], spot: Spot
    ) -> list[Ticket] | None:
        """Borrow the outputs for writing, as their partitions do; None: look closer.

        They share no memory with plain inputs: of that no exclusive borrow would stand.
        """
        tickets: list[Ticket] = []
        LOCK.acquire()
        try:
            for partition in outputs:
                if (
                    type(partition) is not Partition
                    or partition.gone is not None
                    or partition.ticket.ended is not None
                ):
                    return None
            if len(outputs) > 1 and _share_memory(memory[: len(outputs)]):
                return None
            use = Use(self._writing, spot)
            for partition in outputs:
                ticket = partition.ticket
                tickets.append(ticket.state.reborrow(ticket, use))
        finally:
            LOCK.release()
        return tickets


def _share_memory(regions: Sequence[Region]) -> bool:
    return len({region.storage for region in regions}) < len(regions)


def note_plain(outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Let tensors know that they need no closer look; whether none of these needs one."""
    handles = [value.content if is_arc(value) else value for value in inputs]
    handles += [value.tensor if is_partition(value) else None for value in outputs]
    if not all(isinstance(handle, Handle) for handle in handles):
        return False
    with LOCK:
        for handle in handles:
            handle.note_plain()
    return all(handle.plain_region is not None for handle in handles)


def picking(places: Sequence[int], count: int) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What takes the values at some places out of a tuple of so many, into another sequence."""
    if len(places) == count:
        return list  # a slice would be the tuple itself, and who owns what is told by references
    first = places[0] if places else 0
    if list(places) == list(range(first, first + len(places))):
        return itemgetter(slice(first, first + len(places)))
    return itemgetter(*places)
