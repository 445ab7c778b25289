"""Rules of mapped outputs: loops over the tiles of a block, and accesses at the indices they make.

They belong to the grid family: which block has which tile is the order of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import AnyDType
from ...base.errors import Code
from ...base.shapes import Shape, ceil_div
from ...ir.core import Value
from ...ir.launch_expr import LaunchCheck
from ..access import access_hints, checked_part, load, make_view, store
from ..describe import describe
from ..emit import Emitter
from ..mapped_indices import Indices, whole, within
from ..values import MappedRef, Origin, OwnedIndex

# --- which tiles -------------------------------------------------------------------------------


def _iter_indices(em: Emitter, self: Any) -> Indices:
    return whole(em, [self])


def _iter_indices_with(em: Emitter, self: Any, *others: Any) -> Indices:
    return whole(em, _partners(em, self, others))


def _iter_indices_within(em: Emitter, self: Any, spans: Any) -> Indices:
    return within(em, [self], spans)


def _iter_indices_within_with(em: Emitter, self: Any, spans: Any, *others: Any) -> Indices:
    return within(em, _partners(em, self, others), spans)


def _partners(em: Emitter, output: MappedRef, others: Sequence[Any]) -> list[MappedRef]:
    """Outputs whose tiles can be visited together: as many of them, in the same order."""
    for other in others:
        if not isinstance(other, MappedRef):
            em.fail(
                Code.TYPE,
                "only mapped outputs are visited together",
                expected="a tl.MappedPartitionMut parameter",
                got=describe(other),
            )
        if other.groups != output.groups:
            em.fail(
                Code.SHAPE,
                f"`{output.name}` and `{other.name}` are mapped differently",
                expected=f"map shape {output.groups}, as `{output.name}`",
                got=str(other.groups),
            )
        for axis in output.walked:
            _require_as_many(em, output, other, axis)
    return [output, *others]


def _require_as_many(em: Emitter, one: MappedRef, other: MappedRef, axis: int) -> None:
    message = f"`{one.name}` and `{other.name}` must have equally many tiles on axis {axis}"
    counts = [_tiles_at_launch(output, axis) for output in (one, other)]
    if counts[0] != counts[1]:
        em.require_at_launch(LaunchCheck(("eq", *counts), message, em.span))


def _tiles_at_launch(output: MappedRef, axis: int) -> tuple[Any, ...]:
    known, tile = output.type.shape[axis], output.tile[axis]
    if known is not None:
        return ("const", ceil_div(known, tile))
    return ("ceildiv", ("extent", output.type.param, axis), ("const", tile))


# --- accesses ----------------------------------------------------------------------------------


def _store(
    em: Emitter,
    self: Any,
    tile: Any,
    index: Any,
    *,
    latency: Any = None,
    allow_tma: Any = None,
) -> None:
    view = make_view(em, self, self.tile)
    values, guard = _place(em, self, view, index)
    store(em, tile, view, self.name, values, guard, **access_hints(em, latency, allow_tma))


def _load(em: Emitter, self: Any, index: Any, *, padding: Any = 0) -> Value:
    view = make_view(em, self, self.tile, padding=padding)
    values, guard = _place(em, self, view, index)
    return load(em, view, values, guard)


def _place(
    em: Emitter, output: MappedRef, view: Value, index: Any
) -> tuple[tuple[Value, ...], Value | None]:
    """The numbers of an index that belongs to this block, and a guard for those it owns."""
    found = _own_index(em, output, index)
    if not found.whole:
        owned = [k for k in range(len(output.groups)) if k not in output.walked]
        em.fail(
            Code.MINTED,
            f"`{output.name}` has owned axes, for which the index has no coordinate",
            expected=f"a tile number for axis {', '.join(map(str, owned))}",
            got=describe(index),
            hint=f"add one: {output.name}.store(tile, index.at(i)), with i from"
            f" range({output.name}.num_tiles({owned[0]}))",
        )
    guard: Value | None = None
    for axis, part in enumerate(found):
        if axis not in output.walked:
            guard = checked_part(em, view, output.name, axis, part, guard)
    return tuple(em.index(part) for part in found), guard


def _own_index(em: Emitter, output: MappedRef, index: Any) -> OwnedIndex:
    if not isinstance(index, OwnedIndex):
        rebuilt = isinstance(index, tuple | list) and any(
            isinstance(part, Value) and part in em.owned for part in index
        )
        em.fail(
            Code.MINTED,
            f"mapped output `{output.name}` is accessed only at an index that its iter_indices()"
            " yields",
            expected=f"an index of `{output.name}`",
            got=describe(index),
            hint="use the index itself, not its coordinates: for index in"
            f" {output.name}.iter_indices(): m, n = index"
            if rebuilt
            else f"visit its tiles: for index in {output.name}.iter_indices()",
        )
    if all(made_for is not output for made_for in index.origin.outputs):
        other = index.origin.outputs[0].name
        em.fail(
            Code.MINTED,
            f"this index belongs to another mapped output than `{output.name}`",
            expected=f"an index of `{output.name}`",
            got=describe(index),
            hint=f"visit both together: for index in {other}.iter_indices_with({output.name})",
        )
    return index


def _at(em: Emitter, self: Any, *numbers: Any) -> OwnedIndex:
    output = self.origin.outputs[0]
    owned = len(output.groups) - len(output.walked)
    if self.whole or len(numbers) != owned:
        em.fail(
            Code.CALL,
            f"`at` takes a tile number for each owned axis of `{output.name}`",
            expected=f"{0 if self.whole else owned} numbers",
            got=describe(tuple(numbers)),
        )
    given, visits = iter(numbers), iter(self)
    parts = [next(visits) if k in output.walked else next(given) for k in range(len(output.groups))]
    return OwnedIndex.made(parts, self.origin, whole=True)


def _index(em: Emitter, self: Any, *numbers: Any) -> OwnedIndex:
    em.require_unsafe("`index`")
    if len(numbers) != len(self.groups):
        em.fail(
            Code.RANK,
            f"an index of `{self.name}` has a number for each axis",
            expected=f"{len(self.groups)} tile numbers",
            got=describe(tuple(numbers)),
        )
    return OwnedIndex.made([em.index(n) for n in numbers], Origin((self,), None), whole=True)


# --- what a mapped output is -------------------------------------------------------------------


def _shape(em: Emitter, self: Any) -> Shape:
    return tuple(self.tile)


def _dtype(em: Emitter, self: Any) -> AnyDType:
    dtype: AnyDType = self.type.dtype
    return dtype


def _rank(em: Emitter, self: Any) -> int:
    return len(self.tile)


RULES: dict[str, Callable[..., Any]] = {
    "MappedPartitionMut.iter_indices": _iter_indices,
    "MappedPartitionMut.iter_indices_with": _iter_indices_with,
    "MappedPartitionMut.iter_indices_within": _iter_indices_within,
    "MappedPartitionMut.iter_indices_within_with": _iter_indices_within_with,
    "MappedPartitionMut.store": _store,
    "MappedPartitionMut.load": _load,
    "MappedPartitionMut.index": _index,
    "MappedPartitionMut.shape": _shape,
    "MappedPartitionMut.dtype": _dtype,
    "MappedPartitionMut.rank": _rank,
    "MappedPartitionMut.ndim": _rank,
    "PartitionIndex.at": _at,
}
PROPERTIES: frozenset[str] = frozenset(
    f"MappedPartitionMut.{name}" for name in ("shape", "dtype", "rank", "ndim")
)
