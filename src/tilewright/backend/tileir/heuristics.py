"""Heuristics: decisions that the language leaves open, by the tables of `policy`.

They cover the occupancy of a multiprocessor and the order of blocks;
`accesses` decides the forms of memory accesses. Results stay within the error bounds of the
language. Every decision is a line of `kernel.explain()`, and a hint of the caller overrides it.

The tables give the default of `choices`; where the model of resources finds it poor, `selection`
compiles others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...analysis.entry_bounds import axis_of_growing_loops
from ...base.dtypes import f32, f64
from ...base.shapes import Shape
from ...ir.artifact import reporting_ops
from ...ir.core import Func, Op, Value
from ...ir.ops.layout import PERMUTE
from .accesses import TileAccess, choose_accesses
from .bytecode.program import Hints
from .bytecode.types import PartitionView, StridedView
from .choices import Choices, OccupancyConfig, Policy, found, policy_for, requested
from .features import Traits
from .target import TileTarget


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions about one kernel."""

    accesses: Mapping[Op, TileAccess]
    choices: Choices
    """What the hints and the forms of accesses were made from."""
    hints: Hints
    order: Shape | None
    """The shape of the groups in which blocks run, in the order of `tile_index`; None is the order
    of launch."""
    turned: bool
    """Whether the launch has reversed grid axes: the last one varies fastest."""
    reversed_axis: int | None
    """The grid axis along which the last blocks run first, if any."""
    multiversioned: bool
    """Whether one bounds test selects the version for all full tiles."""
    lines: tuple[str, ...]

    def views_of(self, value: Value) -> list[PartitionView | StridedView]:
        """Return the views of Tile IR that the accesses of one view need, each once."""
        found = [a.view for op, a in self.accesses.items() if op.one("view") is value]
        return list(dict.fromkeys(v for v in found if v is not None))


def decide(func: Func, target: TileTarget, choices: Choices | None = None) -> Decisions:
    """Decide everything about one kernel; without choices by those of the tables."""
    traits, policy = Traits(func), policy_for(target)
    heuristics = _Heuristics(traits, target, policy)
    reason = "by the resources it needs"
    if choices is None:
        config, reason = heuristics.config()
        choices = Choices.of_row(config)
    choices = choices.under(target.codegen_hints)
    chosen = replace(target, codegen_hints=choices.over(target.codegen_hints))
    accesses = choose_accesses(traits, chosen, policy, choices)
    hints = dict(heuristics.hints(choices, reason))
    order, turned, reversed_axis = (
        heuristics.order(),
        heuristics.turned(),
        heuristics.reversed_axis(),
    )
    lines = accesses.lines()
    lines += [f"hint {name} = {value}: {why}" for name, (value, why) in hints.items()]
    if order is not None:
        lines.append(_order_line(order))
    if turned:
        lines.append("blocks run along the last grid axis first, where they share tiles or pages")
    if reversed_axis is not None:
        lines.append(
            f"the last blocks of grid axis {reversed_axis} run first: they have the longest loops"
        )
    numbers = {name: value for name, (value, _) in hints.items()}
    return Decisions(
        accesses=accesses.by_op,
        choices=choices,
        hints={target.arch: numbers} if numbers else {},
        order=order,
        turned=turned,
        reversed_axis=reversed_axis,
        multiversioned=accesses.multiversioned,
        lines=tuple(lines),
    )


def _order_line(order: Shape) -> str:
    most = max(order)
    return f"blocks run in groups of {most} along grid axis {order.index(most)}, for cache reuse"


class _Heuristics:
    def __init__(self, traits: Traits, target: TileTarget, policy: Policy) -> None:
        self.traits = traits
        self.func = traits.func
        self.codegen_hints = target.codegen_hints
        self.policy = policy

    # --- how blocks share a multiprocessor -----------------------------------------------------

    def hints(self, choices: Choices, why: str) -> Iterator[tuple[str, tuple[int, str]]]:
        """Yield the hints on the kernel: name, value, and why."""
        asked = requested(self.codegen_hints)
        for name in ("num_cta_in_cga", "occupancy", "num_worker_warps_per_cta"):
            number: int | None = getattr(choices, name)
            if number is not None:
                yield name, (number, "requested" if name in asked else why)

    def config(self) -> tuple[OccupancyConfig, str]:
        """Return the row of the table for the kernel, and why."""
        return self.config_of_products() if self.traits.products else self.config_of_tiles()

    def config_of_tiles(self) -> tuple[OccupancyConfig, str]:
        """Return the occupancy and warps of blocks without products, and the reason."""
        most, reduces = self.traits.largest_tile, self.traits.reductions
        if any(map(self.traits.loops_around, self.traits.loads)):
            return found(self.policy.streams, most), f"tiles of {most} elements, loaded by loops"
        if not reduces:
            size = self.traits.largest_bytes
            return found(self.policy.copies, size), f"tiles of {size} bytes"
        remade = self.traits.remakes
        row = found(self.policy.remade if remade else self.policy.rows, most)
        how = " are rematerialized after a reduction" if remade else " are reduced"
        why = f"tiles of {most} elements{how}"
        if reduces == 1 and row.blocks_once is not None:
            return replace(row, blocks=row.blocks_once), f"{why} once"
        if row.blocks_rows is not None and self.traits.has_rows:
            return replace(row, blocks=row.blocks_rows), f"{why}, several rows each"
        return row, why

    def config_of_products(self) -> tuple[OccupancyConfig, str]:
        """Return the occupancy and warps of blocks with products, and the reason."""
        chain = self.traits.chain
        if not chain:
            most = self.traits.accumulator
            table, how = self.kind_of_product()
            return found(table, most), f"an accumulator of {most} elements{how}"
        height = max(op.result.tile.shape[-2] for op in self.traits.products)
        # Products with fewer rows than a warp group multiplies at once were measured separately.
        is_flat = height < self.policy.flat
        row = found(self.policy.flat_chains if is_flat else self.policy.chains, chain)
        warps = row.warps or (8 if height >= self.policy.tall else 4)
        return replace(row, warps=warps), f"chained products of {chain} elements, {height} rows"

    def kind_of_product(self) -> tuple[Sequence[OccupancyConfig], str]:
        """Return the table for blocks with one product, and its name."""
        if any(op.one("lhs").tile.dtype in (f32, f64) for op in self.traits.products):
            return self.policy.by_hand, " without tensor cores"
        if not self.traits.is_bulk:
            return self.policy.gathers, ", loaded by its warps"
        if self.traits.loops_around_products <= 1:
            if self.traits.computes_operands:
                return self.policy.converted, " of computed operands"
            return self.policy.products, ""
        if reporting_ops(self.func):
            return self.policy.checked, " per visit, with checks"
        return self.policy.visits, " per visit"

    # --- the order of blocks -------------------------------------------------------------------

    def order(self) -> Shape | None:
        """Return the order of blocks, in groups of those that share tiles, close to each other."""
        if not self.is_ordered() or not self.traits.loops_around_products or self.traits.chain:
            return None
        hinted = self.codegen_hints.block_group
        group = self.policy.group if hinted is None else hinted
        # Grouped ordering as in Triton's matmul tutorial: a group of rows walks the columns
        # together, so operand tiles are reused from the L2 cache.
        grouped: dict[Shape, Shape] = {(0, 1): (group, 1), (0, 1, 2): (1, group, 1)}
        return grouped.get(self.traits.block_axes) if group > 1 else None

    def turned(self) -> bool:
        """Return whether blocks along the last grid axis run first: they share tiles or pages."""
        traits, tall = self.traits, self.func.signature.tall
        if not self.is_ordered() or tall:
            return False
        if traits.products:
            return traits.loops_around_products > 0 and traits.chain > 0
        if tall is not None and traits.nearest_axis == max(traits.block_axes):
            return True
        turns = any(op.is_a(PERMUTE) for op in self.func.walk())
        return turns and traits.largest_tile >= self.policy.page

    def reversed_axis(self) -> int | None:
        """Return the grid axis whose last blocks run first: the longest must not start last."""
        return None if self.keeps_order() else axis_of_growing_loops(self.func)

    def is_ordered(self) -> bool:
        """Return whether another order than that of launch is possible, and not unwanted."""
        return not self.keeps_order() and len(self.traits.block_axes) > 1

    def keeps_order(self) -> bool:
        """Return whether blocks must run in the order of launch, by need or by request."""
        return self.func.signature.folded or self.codegen_hints.block_group == 1
