"""Decides what the language leaves open, by the tables of `policy`.

How memory is reached, the forms of functions, the hints, the order of blocks. Results stay within
the bounds that the language gives. Every decision is a line of `kernel.explain()`, and a wish of
the caller goes before the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...analysis.growth import axis_of_growing_loops
from ...analysis.narrowing import seen_in_full
from ...analysis.ranges import Ranges, ranges
from ...analysis.structure import LOOPS, Structure, structure
from ...base.cuda_abi import POINTER_ALIGNMENT
from ...base.dtypes import f32, f64
from ...base.shapes import Shape
from ...ir.artifact import reporting_ops
from ...ir.core import Func, Op, Value
from ...ir.signature import OutputSpec, TensorSpec
from ...ir.types import TileType, ViewType
from .encoding.versions import V13_4
from .policy import Policy, Share, found, policy_for
from .program.core import Hints
from .program.types import PartitionView, StridedView
from .target import TileTarget
from .views import tile_view, tiles_per_frame

PRODUCTS = ("mmaf", "mmai", "mmaf_scaled")
VERBS = {"load_view": "load", "store_view": "store", "atomic_red_view": "reduce into"}
ACCESSES = tuple(VERBS)
WHOLE = {"load": ", whole ones without padding", "store": ", whole ones without a mask"}
"""What is said of accesses that have a way of their own for whole tiles."""


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
class Access:
    """How a view is read or written: through a view of Tile IR, or element by element."""

    view: PartitionView | StridedView | None
    allow_tma: bool | None = None
    latency: int | None = None
    whole_first: bool = False
    """Whether tiles that lie inside are accessed in a way of their own, which asks for no element.
    """
    masked: bool = False
    """Whether the elements are read by their addresses, under a mask."""


@dataclass(frozen=True, slots=True)
class Choices:
    """All decisions about one kernel."""

    accesses: Mapping[Op, Access]
    scaled: frozenset[Op]
    """Exponentials that are the GPU's own power of two, of a scaled argument."""
    hints: Hints
    order: Shape | None
    """Blocks run in groups of this shape, as `tile_index` goes, along as many grid axes; None is
    the order of launch."""
    turned: bool
    """Whether the launch counts the last grid axis up first, instead of the first one."""
    from_last: int | None
    """The grid axis along which the last blocks run first, if any."""
    asks_once: bool
    """Whether one question decides for all tiles that are read in a way of their own."""
    lines: tuple[str, ...]

    def views_of(self, value: Value) -> list[PartitionView | StridedView]:
        """The views of Tile IR that the accesses of one view need, each once."""
        found = [a.view for op, a in self.accesses.items() if op.one("view") is value]
        return list(dict.fromkeys(v for v in found if v is not None))


def choose(func: Func, target: TileTarget) -> Choices:
    """Decide everything about one kernel."""
    chooser = _Chooser(func, target)
    accesses = {op: chooser.access(op) for op in func.walk() if _plain(op) in ACCESSES}
    asks_once = chooser.asks_once([op for op, access in accesses.items() if access.whole_first])
    if asks_once:
        accesses |= chooser.whole_stores(accesses)
    lines = [chooser.line(op, access) for op, access in accesses.items()]
    scaled = chooser.scaled()
    lines += [_scaled_line(op) for op in scaled]
    hints = dict(chooser.hints())
    order = chooser.order()
    lines += [f"hint {name} = {value}: {why}" for name, (value, why) in hints.items()]
    if order is not None:
        lines.append(_order_line(order))
    turned = chooser.turned()
    if turned:
        lines.append("blocks run along the last grid axis first, for reuse")
    from_last = chooser.from_last()
    if from_last is not None:
        lines.append(f"the last blocks of grid axis {from_last} run first, for they do most")
    if asks_once:
        lines.append("blocks are asked once whether all their tiles are whole")
    numbers = {name: value for name, (value, _) in hints.items()}
    by_arch: Hints = {target.arch: numbers} if numbers else {}
    return Choices(
        accesses, frozenset(scaled), by_arch, order, turned, from_last, asks_once, tuple(lines)
    )


def _plain(op: Op) -> str:
    return op.name.removesuffix("_tko")


def _place(op: Op) -> str:
    return f" ({op.span.place})" if op.span is not None else ""


def _is_aligned(spec: TensorSpec | OutputSpec) -> bool:
    """Whether every row of a tensor begins at a multiple of 16 bytes."""
    size, facts = spec.dtype.itemsize, spec.facts
    steps = [
        stride is None and k < len(facts.strides) and facts.strides[k] * size >= POINTER_ALIGNMENT
        for k, stride in enumerate(spec.strides)
        if stride != 1
    ]
    return facts.alignment >= POINTER_ALIGNMENT and all(steps)


def _in_vectors(spec: TensorSpec | OutputSpec) -> bool:
    """Whether rows begin at multiples of 16 bytes, and end there."""
    known, vector = spec.facts.extents, POINTER_ALIGNMENT // spec.dtype.itemsize
    return _is_aligned(spec) and bool(known) and known[-1] >= vector


def _order_line(order: Shape) -> str:
    most = max(order)
    return f"blocks run in groups of {most} along grid axis {order.index(most)}, for reuse"


def _scaled_line(op: Op) -> str:
    shape = "x".join(map(str, op.result.tile.shape)) or "one element"
    how = "as exp2" if op.name == "exp" else "as one instruction"
    return f"{op.name} of {shape} {how}, for it is only seen in 16 bits{_place(op)}"


class _Chooser:
    def __init__(self, func: Func, target: TileTarget) -> None:
        self.func = func
        self.target = target
        self.wishes = target.wishes
        self.policy: Policy = policy_for(target)
        self.nesting: Structure = structure(func)
        self.ranges: Ranges = ranges(func)
        self.products = [op for op in func.walk() if op.name in PRODUCTS]

    # --- accesses ------------------------------------------------------------------------------

    def access(self, op: Op) -> Access:
        kind = _plain(op)
        view = tile_view(op.one("view").view, self.target.version, padded=kind == "load_view")
        if view is None or kind == "atomic_red_view" or not self.inside(op):
            return Access(None, latency=self.latency(op))
        if self.masked(op, view):
            return Access(view, masked=True)
        return Access(view, self.tma(op), self.latency(op), self.whole_first(op, view))

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
        # Without products to overlap with, bulk copies only add their latency.
        return None if self.products and not self.loops_over_addresses() else False

    def loops_over_addresses(self) -> bool:
        """Whether a loop loads by addresses. Bulk copies beside that are not safe.

        For such a loop tileiras 13.4 lets go of the place of a bulk copy before it has read what is
        there, so that the copy after next may be written over it.
        """
        loads = [op for op in self.func.walk() if self.is_by_addresses(op)]
        return any(outer.name in LOOPS for op in loads for outer in self.nesting.ancestors(op))

    def is_by_addresses(self, op: Op) -> bool:
        """Whether an op loads element by element."""
        if _plain(op) != "load_view":
            return _plain(op) == "load_ptr"
        view = tile_view(op.one("view").view, self.target.version, padded=True)
        return view is None or not self.inside(op)

    def whole_first(self, op: Op, view: PartitionView | StridedView) -> bool:
        """Whether to read tiles that lie inside by a way of their own.

        A padded load is one branch per vector, and the code behind it waits in that branch: one
        vector is in flight at a time. Without padding all of them are.
        """
        if _plain(op) != "load_view" or not isinstance(view, PartitionView):
            return False
        if self.target.version < V13_4:  # cannot promise that a tile lies inside
            return False
        if self.wishes.whole_first is not None:
            return self.wishes.whole_first
        return not self.is_short_copy(op) and (not self.products or not self.is_bulk())

    def is_short_copy(self, op: Op) -> bool:
        """Whether a load is of one short row, in whole vectors, and nothing is reduced.

        A thread then has so few vectors that asking for each takes no longer than asking for all.
        """
        row, spec = op.results[0].tile, self.spec_of(op)
        return (
            not self.products
            and not self.reductions()
            and row.size == row.shape[-1]
            and row.size * row.dtype.itemsize <= self.policy.short
            and spec is not None
            and _in_vectors(spec)
            and op in self.func.body.ops
        )

    def masked(self, op: Op, view: PartitionView | StridedView) -> bool:
        """Whether to read a tile that is multiplied by the addresses of its elements.

        Where bulk copies cannot read it, for its rows begin anywhere: without a branch, the loads
        of the next step are under way while this one is multiplied. Not where another factor can be
        copied in bulk: see `loops_over_addresses`.
        """
        if not self.products or self.chain() or self.wishes.whole_first is not None:
            return False
        is_load = _plain(op) == "load_view" and isinstance(view, PartitionView)
        spec = self.spec_of(op)
        is_near = is_load and spec is not None and spec.facts.near
        return is_near and not any(self.is_aligned(each) for each in self.accesses("load_view"))

    def asks_once(self, loads: Sequence[Op]) -> bool:
        """Whether a kernel of rows is there twice, for blocks whose tiles are whole and for others.

        All that is asked must be known at its beginning.
        """
        least, most = self.policy.twice if self.reductions() else self.policy.twice_copied
        rows = [op.results[0].tile for op in loads]
        longest = max((row.size for row in rows), default=0)
        return (
            longest >= least
            and (longest <= most or self.remakes())
            and all(row.shape and row.size == row.shape[-1] for row in rows)
            and not reporting_ops(self.func)
            and not any(op.name in LOOPS for op in self.func.walk())
            and all(op in self.func.body.ops and self.known_early(op) for op in loads)
        )

    def whole_stores(self, accesses: Mapping[Op, Access]) -> dict[Op, Access]:
        """The stores whose tiles are asked for together with those that are loaded.

        A store that asks for its vectors is a branch for each, and no load behind it begins before
        it is decided.
        """
        return {
            op: replace(access, whole_first=True)
            for op, access in accesses.items()
            if _plain(op) == "store_view"
            and isinstance(access.view, PartitionView)
            and op in self.func.body.ops
            and op.maybe("guard") is None
            and self.known_early(op)
        }

    def known_early(self, access: Op) -> bool:
        """Whether an access is of a parameter, at an index made of numbers alone."""
        pending = list(access.all("index"))
        while pending:
            maker = self.nesting.definer(pending.pop())
            if maker is not None:
                if not maker.defn.pure or maker.regions:
                    return False
                pending += maker.operands
        return access.one("view").view.tensor.param is not None

    # --- functions -----------------------------------------------------------------------------

    def scaled(self) -> list[Op]:
        """The exponentials whose last bits nobody sees."""
        exponentials = [
            op
            for op in self.func.walk()
            if op.name in ("exp", "exp2") and op.result.tile.dtype is f32
        ]
        if self.wishes.scaled_exp is not None:
            return exponentials if self.wishes.scaled_exp else []
        if not exponentials:
            return []
        in_full = seen_in_full(self.func)
        return [op for op in exponentials if op.result not in in_full]

    def latency(self, op: Op) -> int | None:
        given: int | None = op.attrs.get("latency")
        if given is not None or self.wishes.latency is not None:
            return self.wishes.latency if given is None else given
        if _plain(op) != "load_view" or not self.products or self.chain():
            return None
        return found(self.kind_of_product()[0], self.accumulator()).latency

    def line(self, op: Op, access: Access) -> str:
        view: ViewType = op.one("view").view
        verb = VERBS[_plain(op)]
        name = view.tensor.param or "memory"
        shape = "x".join(map(str, view.tile)) or "one element"
        how = "element by element" if access.view is None else "as tiles"
        if access.masked:
            how = "by the addresses of its elements, under a mask"
        if access.allow_tma is not None:
            how += ", bulk copies allowed" if access.allow_tma else ", without bulk copies"
        if access.whole_first:
            how += WHOLE[verb]
        if access.latency is not None:
            how += f", latency {access.latency}"
        return f"{verb} {name} {shape} {how}{_place(op)}"

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
        row, why = self.share_of_products() if self.products else self.share_of_tiles()
        wanted = {
            "num_cta_in_cga": row.cluster,
            "occupancy": row.blocks,
            "num_worker_warps_per_cta": row.warps,
        }
        return {name: (n, why) for name, n in wanted.items() if n is not None}

    def share_of_tiles(self) -> tuple[Share, str]:
        """How blocks without products share a multiprocessor, and why."""
        most = max(self.tiles(), default=0)
        reduces = self.reductions()
        remade = reduces > 0 and self.remakes()
        table = self.policy.remade if remade else self.policy.rows
        row = found(table if reduces else self.policy.copies, most)
        how = " are made again after a reduction" if remade else " are reduced" if reduces else ""
        why = f"tiles of {most} elements{how}"
        if reduces == 1 and row.blocks_once is not None:
            return replace(row, blocks=row.blocks_once), f"{why} once"
        if row.blocks_rows is not None and self.have_rows(most):
            return replace(row, blocks=row.blocks_rows), f"{why}, several rows each"
        return row, why

    def reductions(self) -> int:
        """How many reductions and scans there are."""
        return sum(op.name in ("reduce", "scan") for op in self.func.walk())

    def share_of_products(self) -> tuple[Share, str]:
        """How blocks with products do, and why."""
        chain = self.chain()
        if not chain:
            most = self.accumulator()
            table, how = self.kind_of_product()
            return found(table, most), f"an accumulator of {most} elements{how}"
        height = max(op.result.tile.shape[-2] for op in self.products)
        is_flat = height < self.policy.flat
        row = found(self.policy.flat_chains if is_flat else self.policy.chains, chain)
        warps = 8 if height >= self.policy.tall else 4
        return replace(row, warps=warps), f"chained products of {chain} elements, {height} rows"

    def kind_of_product(self) -> tuple[Sequence[Share], str]:
        """The table for blocks with one product, and what it is called."""
        if any(op.one("lhs").tile.dtype in (f32, f64) for op in self.products):
            return self.policy.by_hand, " without tensor cores"
        if not self.is_bulk():
            return self.policy.gathers, ", loaded by its warps"
        depth = max(sum(o.name in LOOPS for o in self.nesting.ancestors(p)) for p in self.products)
        if depth <= 1:
            return self.policy.products, ""
        if reporting_ops(self.func):
            return self.policy.checked, " per visit, with checks"
        return self.policy.visits, " per visit"

    def accumulator(self) -> int:
        """The elements of the largest product."""
        return max(op.result.tile.size for op in self.products)

    def chain(self) -> int:
        """The elements of all products of one round, where there are several; else 0."""
        return max((sum(sizes) for sizes in self.rounds() if len(sizes) > 1), default=0)

    def is_bulk(self) -> bool:
        """Whether bulk copies bring all that is multiplied: rows must begin at 16 bytes."""
        return all(self.is_aligned(op) for op in self.accesses("load_view"))

    def is_aligned(self, op: Op) -> bool:
        """Whether every row of what is accessed begins at a multiple of 16 bytes."""
        spec = self.spec_of(op)
        return spec is not None and _is_aligned(spec)

    def spec_of(self, op: Op) -> TensorSpec | OutputSpec | None:
        """The parameter that an access is of; None for memory of other origin."""
        name: str | None = op.one("view").view.tensor.param
        found = [spec for spec in self.func.signature.params if spec.name == name]
        return next((s for s in found if isinstance(s, TensorSpec | OutputSpec)), None)

    def accesses(self, kind: str) -> list[Op]:
        """The accesses of one kind."""
        return [op for op in self.func.walk() if _plain(op) == kind]

    def remakes(self) -> bool:
        """Whether a tile is loaded or converted more than once, as `remake_tiles` makes it."""
        ops = [op for op in self.func.body.ops if _plain(op) in ("load_view", "ftof", "itof")]
        made = [(op.operands[0], op.all("index") if len(op.operands) > 1 else ()) for op in ops]
        return len(set(made)) < len(made)

    def rounds(self) -> list[list[int]]:
        """The sizes of the products that are computed together, as in one round of a loop."""
        sizes: dict[Op | None, list[int]] = {}
        for op in self.products:
            sizes.setdefault(self.nesting.parent.get(op), []).append(op.result.tile.size)
        return list(sizes.values())

    def tiles(self) -> list[int]:
        """The sizes of all tiles that are loaded or stored."""
        return [kind.size for kind in self.tile_types()]

    def tile_types(self) -> list[TileType]:
        """The types of all tiles that are loaded or stored."""
        ops = [op for op in self.func.walk() if _plain(op) in ACCESSES]
        values = [v for op in ops for v in (*op.results, *op.operands)]
        return [v.type for v in values if isinstance(v.type, TileType)]

    def have_rows(self, size: int) -> bool:
        """Whether tiles of this size have several rows."""
        return any(kind.shape[-1] < size for kind in self.tile_types() if kind.size == size)

    def from_last(self) -> int | None:
        """The grid axis whose last blocks run first: those with most to do must not begin last."""
        if self.func.signature.folded or self.wishes.block_group == 1:
            return None
        return axis_of_growing_loops(self.func)

    def order(self) -> Shape | None:
        """The order of blocks, in groups of those that share tiles, close to each other."""
        if not self.is_ordered() or not self.multiplies_in_loops() or self.chain():
            return None
        wished = self.wishes.block_group
        group = self.policy.group if wished is None else wished
        grouped: dict[Shape, Shape] = {(0, 1): (group, 1), (0, 1, 2): (1, group, 1)}
        return grouped.get(self.block_axes()) if group > 1 else None

    def turned(self) -> bool:
        """Whether blocks that share tiles, or pages of memory, lie along the last grid axis."""
        if not self.is_ordered():
            return False
        if self.products:
            return self.multiplies_in_loops() and bool(self.chain())
        turns = any(op.name == "permute" for op in self.func.walk())
        return turns and max(self.tiles(), default=0) >= self.policy.page

    def is_ordered(self) -> bool:
        """Whether another order than that of launch is possible, and not unwanted."""
        unwanted = self.func.signature.folded or self.wishes.block_group == 1
        return not unwanted and len(self.block_axes()) > 1

    def block_axes(self) -> tuple[int, ...]:
        """The grid axes that the kernel looks at."""
        found = {op.attrs["axis"] for op in self.func.walk() if op.name == "block_id"}
        return tuple(sorted(found))

    def multiplies_in_loops(self) -> bool:
        """Whether blocks load tiles again and again for products."""
        makers = [self.nesting.ancestors(op) for op in self.products]
        return any(op.name in LOOPS for around in makers for op in around)
