"""Decides what the language leaves open, by tables: how memory is reached, and the hints.

Nothing here changes a result. Every decision is a line of `kernel.explain()`, and a wish of the
caller goes before the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...analysis.ranges import Ranges, ranges
from ...analysis.structure import LOOPS, Structure, structure
from ...ir.core import Func, Op, Value
from ...ir.types import TileType, ViewType
from .program.core import Hints
from .program.types import PartitionView, StridedView
from .target import TileTarget
from .views import tile_view, tiles_per_frame

PRODUCTS = ("mmaf", "mmai", "mmaf_scaled")
ACCESSES = ("load_view", "store_view", "atomic_red_view")


def _yielded(branch: Op, value: Value) -> list[Value]:
    """What the arms of a branch give for one of its results."""
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
class Policy:
    """The numbers by which decisions are made for architectures alike."""

    since: int
    """The first architecture these hold for, as a number."""
    wide_block: int
    """From so many elements in one access on, blocks of kernels without products get 8 warps."""
    large_row: int
    """From so many on, blocks that reduce what they hold get 4 warps, and 4 share a processor."""
    wide_product: int
    """From so many elements in one accumulator on, blocks of kernels with products do."""
    wide_chain: int
    """From so many in all results of one round on, blocks that chain products do."""
    dense_chain: int
    """From so many on, but fewer than that, two of them share a multiprocessor."""
    group: int
    """Blocks of a product are run in groups of so many along the first axis, for reuse."""
    bulk_copies: bool
    """Whether there are bulk copies of tiles (TMA)."""


HOPPER = Policy(
    since=90,
    wide_block=2048,
    large_row=8192,
    wide_product=32768,
    wide_chain=24576,
    dense_chain=16384,
    group=8,
    bulk_copies=True,
)
"""Found by trying on an H200; newer architectures have not been tried, and take it as it is."""

POLICIES = (HOPPER, replace(HOPPER, since=80, wide_block=4096, bulk_copies=False))
"""Newest first."""


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
        self.ranges: Ranges = ranges(func)
        self.products = [op for op in func.walk() if op.name in PRODUCTS]

    # --- accesses ------------------------------------------------------------------------------

    def access(self, op: Op) -> Access:
        view: ViewType = op.one("view").view
        kind = _plain(op)
        found = tile_view(view, self.target.version, padded=kind == "load_view")
        whole = found is not None and kind != "atomic_red_view" and self.inside(op)
        if not whole:
            return Access(None, latency=self.latency(op))
        return Access(found, self.tma(op), self.latency(op))

    def inside(self, op: Op) -> bool:
        """Whether an index cannot lead where Tile IR leaves open what happens.

        Behind the last tile there is only padding; before the first one, or in another block's
        frame, there must be no access at all.
        """
        if op.maybe("guard") is not None:
            return self.guarded_by_checks(op)
        view: ViewType = op.one("view").view
        for k, index in enumerate(op.all("index")):
            low, high = self.ranges.of(index)
            if low < 0 or (view.frame is not None and high >= tiles_per_frame(view, k)):
                return False
        return True

    def guarded_by_checks(self, op: Op) -> bool:
        """Whether a guard, if any, is false only where the launch fails anyway."""
        guard = op.maybe("guard")
        pending = [] if guard is None else [guard]
        while pending:
            value = pending.pop()
            maker = self.nesting.definer(value)
            if maker is None or maker.name not in CHECKED:
                return False
            pending += CHECKED[maker.name](maker, value)
        return True

    def tma(self, op: Op) -> bool | None:
        if not self.policy.bulk_copies:
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
        chosen = self.warps_and_occupancy()
        for name in ("num_cta_in_cga", "occupancy", "num_worker_warps_per_cta"):
            wished: int | None = getattr(self.wishes, name)
            if wished is not None:
                yield name, (wished, "asked for")
            elif name in chosen:
                yield name, chosen[name]

    def warps_and_occupancy(self) -> dict[str, tuple[int, str]]:
        """Warps of a block and blocks that share a multiprocessor, where the table says so."""
        if why := self.large():
            return {"occupancy": (4, why), "num_worker_warps_per_cta": (4, why)}
        if why := self.wide():
            return {"num_worker_warps_per_cta": (8, why)}
        if why := self.dense():
            return {"occupancy": (2, why)}
        return {}

    def large(self) -> str:
        """Why a block that reduces its rows must leave room for others; nothing if not."""
        most = max(self.tiles(), default=0)
        reduces = any(op.name in ("reduce", "scan") for op in self.func.walk())
        if self.products or not reduces or most < self.policy.large_row:
            return ""
        return f"rows of {most} elements are reduced"

    def rounds(self) -> list[list[int]]:
        """The sizes of the products that are computed together, as in one round of a loop."""
        found: dict[Op | None, list[int]] = {}
        for op in self.products:
            found.setdefault(self.nesting.parent.get(op), []).append(op.result.tile.size)
        return list(found.values())

    def wide(self) -> str:
        """Why a block is too much for four warps; nothing if it is not."""
        if not self.products:
            most = max(self.tiles(), default=0)
            return f"tiles of {most} elements" if most >= self.policy.wide_block else ""
        most = max(op.result.tile.size for op in self.products)
        if most >= self.policy.wide_product:
            return f"an accumulator of {most} elements"
        chain = max((sum(sizes) for sizes in self.rounds() if len(sizes) > 1), default=0)
        return f"chained products of {chain} elements" if chain >= self.policy.wide_chain else ""

    def dense(self) -> str:
        """Why two blocks had better share a multiprocessor; nothing if they had not."""
        chains = [sum(sizes) for sizes in self.rounds() if len(sizes) > 1]
        most = max(chains, default=0)
        return f"chained products of {most} elements" if most >= self.policy.dense_chain else ""

    def tiles(self) -> list[int]:
        """The sizes of all tiles that are loaded or stored."""
        return [
            v.type.size
            for op in self.func.walk()
            if _plain(op) in ACCESSES
            for v in (*op.results, *op.operands)
            if isinstance(v.type, TileType)
        ]

    def group(self) -> int:
        if self.func.signature.folded:
            return 1
        if self.wishes.block_group is not None:
            return self.wishes.block_group
        looped = any(o.name in LOOPS for op in self.products for o in self.nesting.ancestors(op))
        axes = {op.attrs["axis"] for op in self.func.walk() if op.name == "block_id"}
        return self.policy.group if looped and axes == {0, 1} else 1
