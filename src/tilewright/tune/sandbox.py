"""Where candidates run: on the inputs of a call, and on copies of its outputs.

What the call will write is never touched, so an error or an interrupt leaves nothing to restore.
Each run that is compared begins with the outputs as the call found them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard, cast

from ..devices.protocol import Device, Stream
from ..kernels import convert, rand
from ..launch import Entry, Launch
from ..tensors.arc import Arc
from ..tensors.create import zeros
from ..tensors.layout import row_major
from ..tensors.partition import MappedPartition, Partition
from ..tensors.putting import copy_now, like_now, overwrite_now
from ..tensors.region import Region
from ..tensors.storage import allocate
from ..tensors.tensor import BorrowMut, Tensor, new_tensor
from .agreement import deviation, prepare, said, scale_of, tolerance_of
from .choice import Choice

Results = Sequence[tuple[Tensor[Any], float]]
"""What outputs were after a run, and the scale of each."""


class Sandbox:
    """The arguments of a call, with copies in the place of what it writes."""

    def __init__(
        self, entry: Entry, args: Sequence[Any], constants: dict[str, Any], device: Device
    ) -> None:
        self.device = device
        self.stream: Stream = device.new_stream()
        self._args, self._constants = list(args), constants
        outputs = [i for i, p in enumerate(entry.source.parameters) if p.kind == "output"]
        self._live: dict[int, Region] = {i: region_behind(args[i]) for i in outputs}
        self._copies = {i: like_now(region) for i, region in self._live.items()}
        self._names = {i: entry.source.parameters[i].name for i in outputs}
        self.restore()

    @property
    def size(self) -> int:
        """How many elements are written at most: nothing can be measured where there are none."""
        return max((region.layout.covers for region in self._live.values()), default=0)

    def restore(self) -> None:
        """Restore all copies to the outputs' contents at the call."""
        for place, copy in self._copies.items():
            overwrite_now(copy, self._live[place])

    def build(self, choice: Choice) -> Launch[Any]:
        """Build a launch of a candidate."""
        given = list(self._args)
        for place, copy in self._copies.items():
            given[place] = _as_given(new_tensor(copy), self._args[place])
        return choice.launch(given, self._constants)

    def prepare(self) -> None:
        """Compile what compares results."""
        for region in self._live.values():
            like = row_major(region.dtype, region.shape)
            memory = allocate(self.device, region.layout.covers, zeroed=True)
            prepare(new_tensor(Region(memory, like, memory.address)), self.stream)

    def run(self, choice: Choice) -> None:
        """Run a candidate once, on outputs as the call found them."""
        self.restore()
        self.build(choice).sync_on(self.stream)

    def results(self) -> Results:
        """Keep what the last run has written, to compare others with."""
        kept = [new_tensor(copy_now(copy)) for copy in self._copies.values()]
        return [(tensor, scale_of(tensor, self.stream)) for tensor in kept]

    def disagreement(self, expected: Results, tolerance: float | None) -> str:
        """Describe how the last run differs from what is expected; empty if it does not."""
        for (place, copy), (wanted, scale) in zip(self._copies.items(), expected, strict=True):
            found = new_tensor(copy_now(copy))
            off = deviation(found, wanted, scale, self.stream)
            if off > (tolerance_of(found.dtype) if tolerance is None else tolerance):
                return f"wrong: `{self._names[place]}` differs from the first {said(off)}"
        return ""


def region_behind(output: Any) -> Region:
    """Return the memory of an output as a call is given it."""
    found = output
    if is_shared(found):
        found = found.content
    region: Region = (found.tensor if is_lent(found) else found).region
    return region


def stand_in(declared: Any) -> Any:
    """Return a tensor with memory for one without: random numbers, or zeros if it has integers."""
    described: object = declared.tensor if is_lent(declared) else declared
    if not (_is_tensor(described) and described.region.storage.is_meta):
        return declared
    shape, dtype = described.region.shape, described.region.dtype
    made: Tensor[Any] = zeros(shape, dtype).sync()
    if dtype.is_float:
        made = cast("Tensor[Any]", convert(rand(shape).sync(), dtype).sync())
    return _as_given(made, declared) if is_lent(declared) else made


def _is_tensor(given: object) -> TypeGuard[Tensor[Any]]:
    return isinstance(given, Tensor)


def is_shared(output: object) -> TypeGuard[Arc[Any]]:
    """Return whether an output is given by one of its owners."""
    return isinstance(output, Arc)


def is_lent(output: object) -> TypeGuard[BorrowMut[Any] | Partition[Any]]:
    """Return whether an output is given by what borrows it, or cuts it into tiles."""
    return isinstance(output, BorrowMut | Partition)


def is_mapped(output: object) -> TypeGuard[MappedPartition[Any]]:
    """Return whether an output is given as a mapped partition."""
    return isinstance(output, MappedPartition)


def _as_given(copy: Tensor[Any], given: object) -> Any:
    """Return a copy as the kernel is given what it stands for."""
    if not (is_lent(given) and isinstance(given, Partition)):
        return copy.borrow_mut()
    made = copy.partition_mut(given.tile)
    if not is_mapped(given):
        return made
    mapping = given.mapping
    return made.map(mapping.groups, mapping.num_tile_blocks)
