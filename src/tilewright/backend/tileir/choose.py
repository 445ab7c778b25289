"""Decides what the language leaves open, by tables: how memory is reached, and the hints.

Nothing here changes a result. Every decision is a line of `kernel.explain()`, and a wish of the
caller goes before the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...analysis.structure import LOOPS, Structure, structure
from ...ir.core import Func, Op, Value
from ...ir.types import TileType, ViewType
from .program.core import Hints
from .program.types import PartitionView, StridedView
from .target import TileTarget
from .views import tile_view

PRODUCTS = ("mmaf", "mmai", "mmaf_scaled")
ACCESSES = ("load_view", "store_view", "atomic_red_view")


@dataclass(frozen=True, slots=True)
class Policy:
    """The numbers by which decisions are made for architectures alike."""

    since: int
    """The first architecture these hold for, as a number."""
    wide_block: int
    """From so many elements in one access on, blocks of kernels without products get 8 warps."""
    wide_product: int
    """From so many elements in one accumulator on, blocks of kernels with products do."""
    group: int
    """Blocks of a product are run in groups of so many along the first axis, for reuse."""
    bulk_copies: bool
    """Whether there are bulk copies of tiles (TMA)."""


POLICIES = (
    Policy(since=100, wide_block=2048, wide_product=128 * 256, group=8, bulk_copies=True),
    Policy(since=90, wide_block=2048, wide_product=128 * 256, group=8, bulk_copies=True),
    Policy(since=80, wide_block=4096, wide_product=128 * 256, group=8, bulk_copies=False),
)


def policy_for(target: TileTarget) -> Policy:
    """The policy of the newest architecture that is not newer than the target."""
    return next(p for p in POLICIES if target.number >= p.since)


@dataclass(frozen=True, slots=True)
class Access:
    """How a view is read or written: through a view of Tile IR, or element by element."""

    view: PartitionView | StridedView | None
    allow_tma: bool | None = None
    latency: int | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """All decisions about one kernel."""

    accesses: Mapping[Op, Access]
    hints: Hints
    group: int
    """Blocks along the first grid axis that are run together; 1 is the plain order."""
    lines: tuple[str, ...]

    def views_of(self, value: Value) -> list[PartitionView | StridedView]:
        """The views of Tile IR that the accesses of one view need, each once."""
        found = [a.view for op, a in self.accesses.items() if op.one("view") is value]
        return list(dict.fromkeys(v for v in found if v is not None))


def choose(func: Func, target: TileTarget) -> Choices:
    """Decide everything about one kernel."""
    chooser = _Chooser(func, target)
    accesses = {op: chooser.access(op) for op in func.walk() if _plain(op) in ACCESSES}
    lines = [chooser.line(op, access) for op, access in accesses.items()]
    hints = dict(chooser.hints())
    group = chooser.group()
    lines += [f"hint {name} = {value}: {why}" for name, (value, why) in hints.items()]
    if group > 1:
        lines.append(f"blocks run in groups of {group} along the first grid axis, for reuse")
    numbers = {name: value for name, (value, _) in hints.items()}
    return Choices(accesses, {target.arch: numbers} if numbers else {}, group, tuple(lines))


def _plain(op: Op) -> str:
    return op.name.removesuffix("_tko")


class _Chooser:
    def __init__(self, func: Func, target: TileTarget) -> None:
        self.func = func
        self.target = target
        self.wishes = target.wishes
        self.policy = policy_for(target)
        self.nesting: Structure = structure(func)
        self.products = [op for op in func.walk() if op.name in PRODUCTS]

    # --- accesses ------------------------------------------------------------------------------

    def access(self, op: Op) -> Access:
        view: ViewType = op.one("view").view
        kind = _plain(op)
        found = tile_view(view, self.target.version, padded=kind == "load_view")
        if found is None or not self.guarded_by_checks(op) or not self.reducible(op):
            return Access(None, latency=self.latency(op))
        return Access(found, self.tma(op), self.latency(op))

    def guarded_by_checks(self, op: Op) -> bool:
        """Whether a guard, if any, is false only where the launch fails anyway."""
        guard = op.maybe("guard")
        pending = [] if guard is None else [guard]
        while pending:
            maker = self.nesting.definer(pending.pop())
            if maker is None or maker.name not in ("check", "andi"):
                return False
            pending += maker.operands if maker.name == "andi" else ()
        return True

    def reducible(self, op: Op) -> bool:
        return _plain(op) != "atomic_red_view"

    def tma(self, op: Op) -> bool | None:
        if _plain(op) == "atomic_red_view" or not self.policy.bulk_copies:
            return None
        if op.attrs["allow_tma"] is not None:
            return bool(op.attrs["allow_tma"])
        if self.wishes.allow_tma is not None:
            return self.wishes.allow_tma
        # A tile copied once has nobody to overlap with: bulk copies then only add their latency.
        one_shot = not any(o.name in LOOPS for o in self.nesting.ancestors(op))
        return False if one_shot and not self.products else None

    def latency(self, op: Op) -> int | None:
        given: int | None = op.attrs.get("latency")
        return self.wishes.latency if given is None else given

    def line(self, op: Op, access: Access) -> str:
        view: ViewType = op.one("view").view
        verb = {"load_view": "load", "store_view": "store"}.get(_plain(op), "reduce into")
        name = view.tensor.param or "memory"
        shape = "x".join(map(str, view.tile)) or "one element"
        how = "element by element" if access.view is None else "as tiles"
        if access.allow_tma is not None:
            how += ", bulk copies allowed" if access.allow_tma else ", without bulk copies"
        if access.latency is not None:
            how += f", latency {access.latency}"
        place = f" ({op.span.place})" if op.span is not None else ""
        return f"{verb} {name} {shape} {how}{place}"

    # --- hints ---------------------------------------------------------------------------------

    def hints(self) -> Iterator[tuple[str, tuple[int, str]]]:
        """The hints on the kernel: name, value, and why."""
        for name in ("num_cta_in_cga", "occupancy", "num_worker_warps_per_cta"):
            wished = getattr(self.wishes, name)
            if wished is not None:
                yield name, (wished, "asked for")
            elif name == "num_worker_warps_per_cta" and (why := self.wide()):
                yield name, (8, why)

    def wide(self) -> str:
        """Why a block is too much for four warps; nothing if it is not."""
        if self.products:
            most = max(op.result.tile.size for op in self.products)
            return f"an accumulator of {most} elements" if most >= self.policy.wide_product else ""
        sizes = [v.type.size for op in self.func.walk() if _plain(op) in ACCESSES
                 for v in (*op.results, *op.operands)
                 if isinstance(v.type, TileType)]  # fmt: skip
        most = max(sizes, default=0)
        return f"tiles of {most} elements" if most >= self.policy.wide_block else ""

    def group(self) -> int:
        if self.func.signature.folded:
            return 1
        if self.wishes.block_group is not None:
            return self.wishes.block_group
        looped = any(o.name in LOOPS for op in self.products for o in self.nesting.ancestors(op))
        axes = {op.attrs["axis"] for op in self.func.walk() if op.name == "block_id"}
        return self.policy.group if looped and axes == {0, 1} else 1
