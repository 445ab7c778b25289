"""Decide the form of each memory access: Tile IR views or elements, bulk copies, masks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...analysis.entry_bounds import EntryBounds
from ...analysis.ranges import Ranges, ranges
from ...base.cuda_abi import POINTER_ALIGNMENT
from ...base.dtypes import AnyDType, f8e8m0fnu
from ...base.shapes import shape_text
from ...base.source import where
from ...ir.artifact import reporting_ops
from ...ir.core import Op, Value
from ...ir.opdef import Trait
from ...ir.ops.control import FOR
from ...ir.types import TensorType, ViewType
from .bytecode.enums import V13_3, V13_4, Version
from .bytecode.types import SCALAR_OF, PaddingMode, PartitionView, StridedView, TensorView
from .choices import Choices, Policy
from .code_size import BRANCHING
from .features import Traits, plain
from .target import CodegenHints, TileTarget

# -------------------------------------------------------------------------------------------------
# The views that Tile IR can express: from a ViewType to a type of Tile IR, or None.


def tensor_view(tensor: TensorType) -> TensorView | None:
    """Return a tensor; None where a static extent or stride is not positive, as Tile IR demands."""
    # Broadcast tensors (stride 0) and reversed ones have no tensor view; they are accessed by
    # address.
    if any(n is not None and n <= 0 for n in (*tensor.shape, *tensor.strides)) or not tensor.rank:
        return None
    return TensorView(SCALAR_OF[tensor.dtype], tensor.shape, tensor.strides)


def tile_view(
    view: ViewType, version: Version, *, padded: bool
) -> PartitionView | StridedView | None:
    """Return a view whose index counts tiles of the tensor; None if Tile IR has no such view.

    With a frame it is the view of the tensor whose tiles are those of the frames; that exists
    where tiles do not reach from one frame into the next.
    """
    tensor = tensor_view(view.tensor)
    if tensor is None or view.sparse is not None or not _frames_fit(view):
        return None
    padding = None
    if padded and view.padding is not None:
        padding = padding_of(view.padding, view.tensor.dtype)
        if padding is None:
            return None
    steps = view.step or view.tile
    # Overlapping or strided tiles need a newer bytecode; without it they are accessed by address.
    if steps == view.tile:
        return PartitionView(view.tile, tensor, view.dim_map, padding)
    if version < V13_3:
        return None
    return StridedView(view.tile, steps, tensor, view.dim_map, padding)


def tiles_per_frame(view: ViewType, axis: int) -> int:
    """Return the number of tiles side by side in one frame, along a tile axis."""
    assert view.frame is not None, "only views with frames have tiles in them"
    return view.frame[view.dim_map[axis]] // (view.step or view.tile)[axis]


def _frames_fit(view: ViewType) -> bool:
    if view.frame is None:
        return True
    steps = view.step or view.tile
    return steps == view.tile and all(
        view.frame[axis] % steps[k] == 0 for k, axis in enumerate(view.dim_map)
    )


def padding_of(value: float | int, dtype: AnyDType) -> PaddingMode | None:
    """Return the padding that Tile IR knows by name; None for all others."""
    if dtype is f8e8m0fnu:
        return None
    if not dtype.is_float:
        return PaddingMode.zero if value == 0 else None
    if math.isnan(value):
        return PaddingMode.nan
    if math.isinf(value):
        return PaddingMode.pos_inf if value > 0 else PaddingMode.neg_inf
    if value != 0:
        return None
    return PaddingMode.neg_zero if math.copysign(1.0, value) < 0 else PaddingMode.zero


# -------------------------------------------------------------------------------------------------
# The form of each access: tile views, bulk copies (TMA), masks, prefetch distance.
#
# `lower.memory` emits what is decided here. No decision lets an access leave its tensor.

VERBS = {"load_view": "load", "store_view": "store", "atomic_red_view": "reduce into"}
WHOLE = {"load": ", full tiles without padding", "store": ", full tiles without a mask"}
"""The text of `explain()` for accesses with a separate path for full tiles."""


def _yielded(branch: Op, value: Value) -> list[Value]:
    """Return the values that the arms of a branch yield for one of its results."""
    at = next(i for i, result in enumerate(branch.results) if result is value)
    return [arm.terminator.operands[at] for arm in branch.regions]


CHECKED: dict[str, Callable[[Op, Value], Sequence[Value]]] = {
    "check": lambda op, value: (),
    "constant": lambda op, value: (),
    "andi": lambda op, value: op.operands,
    "if": _yielded,
}
"""Ops that a guard made of checks alone is made of, and what they take of other such ops."""


@dataclass(frozen=True, slots=True)
class TileAccess:
    """The form of an access: through a view of Tile IR, or element by element."""

    view: PartitionView | StridedView | None
    allow_tma: bool | None = None
    latency: int | None = None
    whole_first: bool = False
    """Whether the access tests its tile, and has a separate path without masks for full ones."""
    versioned: bool = False
    """Whether the test at the kernel's entry, if there is one, covers this access."""
    masked: bool = False
    """Whether the elements are read by their addresses, under a mask."""
    streamed: bool = False
    """Whether the latency is our choice for a loop, which bounds on its code may lower."""
    whole_as_tile: bool = False
    """Whether a block of full tiles reads it through its view nevertheless."""
    apart: bool = False
    """Whether each thread reads single elements by their addresses, not vectors of neighbours."""
    vector: int = 1
    """How many elements that are read by their addresses are neighbours, at a multiple of their
    size."""


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """The forms of all memory accesses of a kernel."""

    by_op: Mapping[Op, TileAccess]
    multiversioned: bool
    """Whether one bounds test selects the version for all full tiles."""

    def lines(self) -> list[str]:
        """Return a line about each access; copies of unrolled code share one."""
        found = Counter(_line(op, access) for op, access in self.by_op.items())
        return [line if n == 1 else f"{line}, {n} times" for line, n in found.items()]


def choose_accesses(
    traits: Traits, target: TileTarget, policy: Policy, choices: Choices
) -> AccessPlan:
    """Decide every access, of blocks that share a multiprocessor as `choices` say."""
    chooser = _Chooser(traits, target, policy, choices)
    found = {op: chooser.access(op) for op in traits.accesses}
    versioned = chooser.versioned(found)
    multiversioned = chooser.multiversioned(found, versioned)
    if multiversioned:
        found |= {op: replace(found[op], versioned=True) for op in versioned}
    return AccessPlan(found, multiversioned)


def _line(op: Op, access: TileAccess) -> str:
    view: ViewType = op.one("view").view
    verb = VERBS[plain(op)]
    name = view.tensor.param or "memory"
    shape = shape_text(view.tile) or "one element"
    how = "element by element" if access.view is None else "as tiles"
    if access.masked:
        how = "by element address, predicated"
        how += ", asynchronously" if access.streamed else ""
        how += ", one per thread" if access.apart else ""
    if access.allow_tma is not None:
        how += ", bulk copies allowed" if access.allow_tma else ", without bulk copies"
    if access.whole_first or access.versioned:
        how += WHOLE[verb]
    if access.latency is not None:
        how += f", latency {access.latency}"
    return f"{verb} {name} {shape} {how}{where(op.span)}"


def latency_asked(codegen_hints: CodegenHints, op: Op) -> int | None:
    """Return the requested prefetch distance: that of the access, else that of the launch."""
    given: int | None = op.attrs.get("latency")
    return codegen_hints.latency if given is None else given


class _Chooser:
    def __init__(
        self, traits: Traits, target: TileTarget, policy: Policy, choices: Choices
    ) -> None:
        self.traits = traits
        self.func = traits.func
        self.target = target
        self.codegen_hints = target.codegen_hints
        self.policy = policy
        # The occupancy comes first: it fixes the prefetch distance that the accesses use.
        self.choices = choices
        self.ranges: Ranges = ranges(traits.func)
        self.bounds = EntryBounds(traits.nesting, self.ranges)

    def access(self, op: Op) -> TileAccess:
        kind = plain(op)
        # The order of the tests is the order of preference: legality first (no view, an index that
        # may be undefined, an assembler bug), then speed.
        view = tile_view(op.one("view").view, self.target.version, padded=kind == "load_view")
        if view is None or kind == "atomic_red_view" or not self.inside(op):
            return TileAccess(None, latency=self.latency(op))
        if kind == "load_view" and self.is_misread(op):
            is_near = isinstance(view, PartitionView) and self.is_near(op)
            return TileAccess(view, masked=True) if is_near else TileAccess(None)
        if self.streamed(op, view):
            vector = self.vector(op)
            return TileAccess(
                view, latency=self.stages(op), masked=True, streamed=True, vector=vector
            )
        if self.masked(op, view):
            # Elements that are gathered by others are where those are. A thread gathers single
            # ones; of vectors, all addresses would go through shared memory.
            apart = op in self.traits.gathering
            vector = 1 if apart else self.vector(op)
            as_tile = not apart and not self.traits.products
            return TileAccess(
                view, latency=self.latency(op), masked=True, whole_as_tile=as_tile, apart=apart,
                vector=vector,
            )  # fmt: skip
        return TileAccess(view, self.tma(op), self.latency(op), self.whole_first(op, view))

    def latency(self, op: Op) -> int | None:
        given = latency_asked(self.codegen_hints, op)
        if given is not None:
            return given
        if plain(op) != "load_view":
            return None
        return self.choices.latency or self.bulk_stages(op)

    def bulk_stages(self, op: Op) -> int | None:
        """Return the iterations by which a bulk copy is prefetched, if the assembler chooses badly.

        It has one buffer for what is converted before a product, unless a hint asks for more.
        """
        traits = self.traits
        is_converted = traits.computes_operands and not traits.chain and traits.is_bulk
        if not is_converted or not self.policy.bulk_copies or not traits.loops_around(op):
            return None
        return self.policy.stages

    # --- loads of loops ------------------------------------------------------------------------

    def streamed(self, op: Op, view: PartitionView | StridedView) -> bool:
        """Return whether a load of a loop is asynchronous: of elements by their addresses.

        tileiras 13.4 begins loads through views one iteration ahead at most, unless they are bulk
        copies; loads by addresses it makes asynchronous copies to shared memory (cp.async), as many
        iterations ahead as their latency says.
        """
        traits, wanted = self.traits, self.codegen_hints.async_loads
        if plain(op) != "load_view" or not isinstance(view, PartitionView) or not self.is_near(op):
            return False
        loop = traits.nesting.parent.get(op)
        if loop is None or not loop.is_a(FOR) or traits.products:
            return False
        # Such functions are so much code, and take so long, that nothing waits for a load.
        if any(inner.name in BRANCHING for inner in loop.regions[0].walk()):
            return False
        return self.policy.stages > 0 if wanted is None else wanted

    def vector(self, op: Op) -> int:
        """Return the number of elements of a tile that one load takes: 16 bytes, or one element."""
        view: ViewType = op.one("view").view
        rows = [n for n, axis in zip(view.tile, view.dim_map, strict=True)
                if view.tensor.strides[axis] == 1]  # fmt: skip
        most = POINTER_ALIGNMENT // view.tensor.dtype.itemsize
        return most if rows and rows[-1] >= most and self.traits.is_aligned(op) else 1

    def stages(self, op: Op) -> int:
        """Return the number of iterations by which the loads of a loop are prefetched.

        As many as keep enough bytes in flight (Little's law), shared among the resident blocks.
        """
        asked = self.latency(op)
        if asked is not None:
            return asked
        loop = self.traits.nesting.parent[op]
        loads = [each for each in self.traits.loads if self.traits.nesting.parent.get(each) is loop]
        kinds = [each.results[0].tile for each in loads]
        nbytes = sum(kind.size * kind.dtype.itemsize for kind in kinds)
        blocks = self.choices.occupancy or 1
        wanted = -(-self.policy.in_flight // max(blocks * nbytes, 1))
        return max(min(wanted, self.policy.stages), 2)

    # --- as tiles, or element by element -------------------------------------------------------

    def inside(self, op: Op) -> bool:
        """Return whether an index is certain to avoid undefined behaviour of Tile IR.

        Beyond the last tile there is only padding; before the first one, or in another block's
        frame, an access would be undefined.
        """
        if op.maybe("guard") is not None:
            return self.guarded_by_checks(op)
        view: ViewType = op.one("view").view
        for k, index in enumerate(op.all("index")):
            low, high = self.ranges.of(index)
            # With a frame the tile view is of the complete tensor: an index past the frame would
            # reach the tile of another block.
            if low < 0 or (view.frame is not None and high >= tiles_per_frame(view, k)):
                return False
        return True

    def guarded_by_checks(self, op: Op) -> bool:
        """Return whether a guard, if any, is false only where the launch fails anyway."""
        guard = op.maybe("guard")
        pending = [] if guard is None else [guard]
        while pending:
            value = pending.pop()
            maker = self.traits.nesting.definer(value)
            if maker is None or maker.name not in CHECKED:
                return False
            pending += CHECKED[maker.name](maker, value)
        return True

    def masked(self, op: Op, view: PartitionView | StridedView) -> bool:
        """Return whether to read a tile by the addresses of its elements, under a mask.

        If it is multiplied and bulk copies cannot read it, because its rows are unaligned, or
        because other tiles of the loop are read by addresses: predicated loads have no branch, so
        those of the next iterations overlap this iteration's product. Not if another operand can be
        copied in bulk. Without products if others are read so, in blocks that no test at the entry
        finds whole: after a branch for a padded vector nothing is loaded before it is there.
        """
        traits, hints = self.traits, self.codegen_hints
        is_load = plain(op) == "load_view" and isinstance(view, PartitionView)
        if not is_load or not self.is_near(op):
            return False
        if not traits.products:
            apart = hints.whole_first is True
            return self.has_addresses and not apart and not traits.loops_around(op)
        if self.loops_over_addresses:
            wanted = hints.async_loads
            return traits.loops_around(op) > 0 and (wanted is None or wanted)
        if traits.chain or hints.whole_first is not None:
            return False
        return not any(traits.is_aligned(each) for each in traits.loads)

    def is_near(self, op: Op) -> bool:
        """Return whether the offsets in a tensor are known to have 31 bits."""
        spec = self.traits.spec_of(op)
        return spec is not None and spec.facts.near

    def is_misread(self, op: Op) -> bool:
        """Return whether tileiras would miscompile a load through a view.

        tileiras 13.4 lets each thread load its own elements. If the tile is reshaped, these are not
        adjacent in memory, but are loaded as if they were, unless a bulk copy loads them.
        """
        is_bulk = self.can_be_bulk(op) and self.tma(op) is not False
        return op in self.traits.reshaped_loads and not is_bulk

    def can_be_bulk(self, op: Op) -> bool:
        """Return whether a bulk copy can load a tile: aligned rows of 16 bytes or more."""
        if (
            not self.policy.bulk_copies
            or not self.traits.products
            or not self.traits.is_aligned(op)
        ):
            return False
        view: ViewType = op.one("view").view
        rows = [n for n, axis in zip(view.tile, view.dim_map, strict=True)
                if view.tensor.strides[axis] == 1]  # fmt: skip
        return bool(rows) and max(rows) * view.tensor.dtype.itemsize >= POINTER_ALIGNMENT

    # --- bulk copies ---------------------------------------------------------------------------

    def tma(self, op: Op) -> bool | None:
        if not self.policy.bulk_copies:
            return None
        if op.attrs["allow_tma"] is not None:
            return bool(op.attrs["allow_tma"])
        if self.codegen_hints.allow_tma is not None:
            return self.codegen_hints.allow_tma
        # Without products to overlap with, bulk copies only add their latency.
        return None if self.traits.products and not self.loops_over_addresses else False

    @cached_property
    def loops_over_addresses(self) -> bool:
        """Return whether a loop loads by addresses. Bulk copies in such a loop are not safe.

        tileiras 13.4 releases the buffer of a bulk copy before it has been read in such a loop, so
        that the copy after the next one may overwrite it.
        """
        loads = [op for op in self.func.walk() if self.is_by_addresses(op)]
        return any(self.traits.loops_around(op) for op in loads)

    @cached_property
    def has_addresses(self) -> bool:
        """Return whether anything is loaded by addresses."""
        return any(map(self.is_by_addresses, self.func.walk()))

    def is_by_addresses(self, op: Op) -> bool:
        """Return whether an op loads element by element."""
        if plain(op) != "load_view":
            return plain(op) == "load_ptr"
        view = tile_view(op.one("view").view, self.target.version, padded=True)
        is_misread = op in self.traits.reshaped_loads and not self.can_be_bulk(op)
        return view is None or is_misread or not self.inside(op)

    # --- tiles that lie inside -----------------------------------------------------------------

    def whole_first(self, op: Op, view: PartitionView | StridedView) -> bool:
        """Return whether to read full tiles by a separate unmasked path.

        A padded load is one branch per vector, which serializes the vectors: one is in flight at a
        time. Without padding all of them are.
        """
        if plain(op) != "load_view" or not isinstance(view, PartitionView):
            return False
        if self.target.version < V13_4:  # has no promise that a tile is in bounds
            return False
        if self.codegen_hints.whole_first is not None:
            return self.codegen_hints.whole_first
        traits = self.traits
        return not self.is_short_copy(op) and (not traits.products or not traits.is_bulk)

    def is_short_copy(self, op: Op) -> bool:
        """Return whether a load is of one short row, in complete vectors, without a reduction.

        A thread then has so few vectors that a test for each costs no more than one for all.
        """
        row = op.results[0].tile
        return (
            not self.traits.products
            and not self.traits.reductions
            and row.size == row.shape[-1]
            and row.size * row.dtype.itemsize <= self.policy.short
            and self.traits.is_in_vectors(op)
            and op in self.func.body.ops
        )

    def multiversioned(self, found: Mapping[Op, TileAccess], versioned: Sequence[Op]) -> bool:
        """Return whether a kernel has a version for full tiles, by one bounds test at its entry."""
        if self.traits.products or self.codegen_hints.whole_first is False:
            return False
        loads = [op for op in versioned if plain(op) == "load_view"]
        if any(found[op].streamed for op in loads):
            return True
        others = [op for op, access in found.items() if access.whole_first]
        if not loads or set(others) - set(loads) or reporting_ops(self.func):
            return False
        if any(op.has(Trait.LOOP) for op in self.func.walk()):
            return False
        rows = [op.results[0].tile for op in loads]
        longest = max(row.size for row in rows)
        if not self.traits.reductions:
            least, most = self.policy.twice_copied
            return least <= longest <= most
        least, most = self.policy.twice
        is_long = longest >= least and (longest <= most or self.traits.remakes)
        return is_long and all(row.shape and row.size == row.shape[-1] for row in rows)

    def versioned(self, found: Mapping[Op, TileAccess]) -> list[Op]:
        """Return the accesses that a bounds test at the kernel's entry can cover.

        An access with a test per vector is a branch for each, and no later load begins before it is
        decided.
        """
        return [
            op
            for op, access in found.items()
            if isinstance(access.view, PartitionView)
            and (
                access.whole_first
                or access.streamed
                or access.whole_as_tile
                or plain(op) == "store_view"
            )
            and (plain(op) == "load_view" or op.maybe("guard") is None)
            and self.target.version >= V13_4
            and op.one("view").view.tensor.param is not None
            and all(self.bounds.of(index) is not None for index in op.all("index"))
        ]
