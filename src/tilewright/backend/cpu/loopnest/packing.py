"""Reuse of packed tiles between adjacent blocks (BLIS-style packing), by index dependences.

Sections: the sources of scalars, and the choice of tiles to share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from ....base.cpu_abi import SCRATCH_ALIGNMENT
from ....base.dtypes import i64
from ....base.shapes import Shape, ceil_div
from ....ir.core import Op, Value
from ....ir.ops.control import BLOCK_ID, TILE_INDEX
from ....ir.types import Elem, PtrType
from .facts import has_pointers
from .index import Index, row_major
from .nodes import (
    AtomicPointer,
    Combine,
    Compute,
    For,
    Get,
    Grouping,
    Matmul,
    Nest,
    NestEffect,
    Plan,
    Position,
    Put,
    Read,
    ReadView,
    Row,
    ScalarStmt,
    SetVariable,
    SharedStmt,
    Stmt,
    TileBuffer,
    Transpose,
    Variable,
    WriteBuffer,
    itemsize,
    needed_reads,
    reads_of,
    walk,
    writes_of,
)

# -------------------------------------------------------------------------------------------------
# Sources of scalars: the position of a block or of a visited tile, and loop counters.


@dataclass(frozen=True, slots=True)
class Roots:
    """The sources of each scalar of a plan; scalars that are equal in all blocks have none."""

    of: dict[Value, frozenset[Value]]
    axes: dict[Value, int]
    """The sources that are positions of the block, or of the visited tile, by grid axis."""
    groups: dict[Value, Shape]
    """The shape of the groups in which tiles are visited, for positions of visited tiles."""
    loaded: set[Value]
    """The sources that were loaded from read-only memory: they often repeat."""


def roots_of(body: list[Stmt]) -> Roots:
    """Return the sources of all scalars of a plan."""
    roots = Roots({}, {}, {}, set())
    loaded = _loaded(body)
    for statement in walk(body):
        match statement:
            case ScalarStmt(op):
                _note(roots, op)
            case Get():
                roots.of[statement.result] = frozenset((statement.result,))
                if statement.variable in loaded:
                    roots.loaded.add(statement.result)
            case For():
                roots.of[statement.iv] = frozenset((statement.iv,))
            case _:
                pass
    return roots


def _note(roots: Roots, op: Op) -> None:
    if op.is_a(BLOCK_ID):
        roots.axes[op.result] = op.attrs["axis"]
    elif op.is_a(TILE_INDEX):
        roots.axes.update({place: axis for axis, place in enumerate(op.results)})
        groups: Shape = op.attrs["groups"]
        roots.groups.update(dict.fromkeys(op.results, groups))
    else:
        made = frozenset(r for v in op.operands for r in roots.of.get(v, ()))
        roots.of.update(dict.fromkeys(op.results, made))
        return
    roots.of.update({place: frozenset((place,)) for place in op.results})


def _loaded(body: list[Stmt]) -> set[Variable]:
    """Return the variables that are set once, by a load from read-only memory."""
    places: dict[Variable, list[Stmt]] = {}
    for statement in walk(body):
        for variable in _set_by(statement):
            places.setdefault(variable, []).append(statement)
    return {variable for variable, by in places.items() if len(by) == 1 and _only_loads(by[0])}


def _set_by(statement: Stmt) -> Iterator[Variable]:
    for effect in statement.effects if isinstance(statement, Nest) else [statement]:
        match effect:
            case SetVariable() | Put():
                yield effect.variable
            case Combine():
                yield from (target for target in effect.targets if isinstance(target, Variable))
            case AtomicPointer(target=Variable() as target):
                yield target
            case _:
                pass


def _only_loads(statement: Stmt) -> bool:
    return (
        isinstance(statement, Nest)
        and all(isinstance(effect, SetVariable) for effect in statement.effects)
        and all(isinstance(read, ReadView) and is_constant(read) for read in statement.reads)
    )


def is_constant(read: ReadView) -> bool:
    """Return whether the memory that is read does not change while the kernel runs."""
    view = read.access.view
    known = view.tensor.param is not None and not view.tensor.mutable
    return known and view.sparse is None and view.frame is None


# -------------------------------------------------------------------------------------------------
# Reuse of packed panels, and a grouped block order that makes it effective.
#
# A tile that is only loaded, converted and transposed is the same in every block that requests it
# with the same scalars. A worker that runs several blocks in a row caches such tiles of a loop with
# a multiply, and a later block finds them there. If one tile depends on the row of the grid and
# another on its column, blocks run in groups of rows (as Triton's grouped ordering), so that both
# are reused soon.
#
# A block that visits many tiles of a mapped output is like several blocks in a row, but the program
# fixes the groups; the cached tiles follow from these.

SHARED_BYTES = 6 << 20
"""Room for shared tiles per worker: small beside the last cache, large beside a tile."""
GROUP_ELEMENTS = 512
"""Rows of elements that a group of blocks should span."""
MAX_ROWS = 8
"""Rows of blocks in a group at most."""
MAX_COPIES = 64
FEWEST_COPIES = 2
TOGETHER = 8
"""Blocks in a row that a worker had better run, where all of them share."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tile that could be shared: the statements that make it, and what it depends on."""

    loop: For
    statements: tuple[Stmt, ...]
    buffer: TileBuffer
    key: tuple[Value, ...]
    places: dict[int, Value]
    """The sources that it depends on, by axis."""
    groups: Shape
    """The shape of the groups of tiles of a mapped output that the sources belong to."""
    rows: int
    """Rows of the product that it is multiplied in."""


def reuse_packed_tiles(plan: Plan, limit: int) -> None:
    """Reuse packed tiles between adjacent blocks, in the scratch memory that `limit` leaves."""
    # A raw pointer may write the memory of any tile, so no copy of it could be trusted.
    if has_pointers(plan.func):
        return
    roots = roots_of(plan.body)
    loops = [loop for loop in walk(plan.body) if isinstance(loop, For)]
    for loop in loops:
        _separate(loop)
    found = [tile for loop in loops for tile in _candidates(plan, loop, roots)]
    chosen, grouping = _met_again(found) if roots.groups else _chosen(found, roots)
    # Each tile has two regions, its copies and their keys; both are aligned.
    aligning = 2 * SCRATCH_ALIGNMENT * len(chosen)
    room = min(SHARED_BYTES, limit - plan.scratch_bytes) - aligning
    each = sum(_sets(rows) * _bytes(tile) for tile, rows in chosen)
    copies = min(room // each, MAX_COPIES) if each else 0
    # With a single copy every iteration of the loop along K would replace it before its reuse.
    if copies < FEWEST_COPIES:
        return
    plan.grouping = grouping
    if not roots.groups:
        together = grouping.rows if grouping is not None else 1
        plan.together = max(together * together, TOGETHER)
    for tile, rows in chosen:
        _share(plan, tile, rows, copies)


# Tiles that could be shared.


def _separate(loop: For) -> None:
    """Split nests so that each buffer that a multiply reads has a separate nest (fission)."""
    packed = {b for step in loop.body for b in _packed(step)}
    body: list[Stmt] = []
    for statement in loop.body:
        if isinstance(statement, Nest) and len(statement.effects) > 1:
            body += _parts(statement, packed)
        else:
            body.append(statement)
    loop.body = body


def _packed(step: Stmt) -> list[TileBuffer]:
    match step:
        case Matmul():
            return [step.lhs, step.rhs]
        case Transpose():
            return [step.source]
        case _:
            return []


def _parts(nest: Nest, packed: set[TileBuffer]) -> list[Nest]:
    """Return the nest split into its independent writes and the rest."""
    own = [e for e in nest.effects if isinstance(e, WriteBuffer) and e.buffer in packed]
    # Fission would reorder a read and a write of the same buffer.
    if any(b in writes_of(nest) for b in reads_of(nest)):
        return [nest]
    rest = [e for e in nest.effects if e not in own]
    made = [_part(nest, [effect]) for effect in own]
    return [*made, _part(nest, rest)] if rest else made


def _part(nest: Nest, effects: list[NestEffect]) -> Nest:
    part = replace(nest, effects=effects)
    part.reads = needed_reads(part)
    return part


def _candidates(plan: Plan, loop: For, roots: Roots) -> list[Candidate]:
    found: list[Candidate] = []
    for step in (s for s in loop.body if isinstance(s, Matmul)):
        for buffer in dict.fromkeys((step.lhs, step.rhs)):
            made = _makers(plan, loop, buffer)
            if not made or any(buffer is tile.buffer for tile in found):
                continue
            key = _key(made[0], roots)
            # Only tiles that the loop walks over (steps along K) are cached.
            if key is None or loop.iv not in key:
                continue
            # All other sources must be positions in the grid (or repeated loads), or no block would
            # see the same key again.
            sources = {r for v in key for r in roots.of[v]} - {loop.iv}
            often = roots.loaded if roots.groups else frozenset[Value]()
            if sources <= roots.axes.keys() | often:
                places, groups = _placed(sources, roots)
                rows = step.result.shape[-2]
                found.append(Candidate(loop, tuple(made), buffer, key, places, groups, rows))
    return found


def _placed(sources: set[Value], roots: Roots) -> tuple[dict[int, Value], Shape]:
    """Return the positions among some sources by axis; in a mapped output those of the tile.

    What was loaded counts for none: an expert, or a page, is often that of the tile before.
    """
    visited = [place for place in sources if place in roots.groups]
    places = visited if roots.groups else sources
    groups = roots.groups[visited[0]] if visited else ()
    return {roots.axes[place]: place for place in places}, groups


def _makers(plan: Plan, loop: For, buffer: TileBuffer) -> list[Stmt]:
    """Return the nest that fills a buffer in a loop, and the transpose after it, if any."""
    writers = [s for s in walk(plan.body) if buffer in writes_of(s)]
    if len(writers) != 1 or writers[0] not in loop.body:
        return []
    (writer,) = writers
    # A transposed tile is shared after the transpose, if nothing else uses its source.
    if isinstance(writer, Transpose):
        users = [s for s in walk(plan.body) if writer.source in reads_of(s)]
        before = _makers(plan, loop, writer.source) if users == [writer] else []
        return [*before, writer] if len(before) == 1 else []
    users = [s for s in walk(plan.body) if buffer in reads_of(s)]
    inside = all(user in loop.body for user in users)
    whole = isinstance(writer, Nest) and len(writer.effects) == 1
    return [writer] if whole and inside else []


def _key(nest: Stmt, roots: Roots) -> tuple[Value, ...] | None:
    """Return the scalars that a nest's tile depends on; None if it depends on more."""
    assert isinstance(nest, Nest), "a nest makes the tile"
    numbers: list[Value] = []
    for read in nest.reads:
        found = _numbers(read)
        if found is None:
            return None
        numbers += found
    # Scalars that are equal in all blocks cannot distinguish tiles.
    key = tuple(v for v in dict.fromkeys(numbers) if roots.of.get(v))
    return key if all(_is_whole(v.tile.elem) for v in key) else None


def _is_whole(elem: Elem) -> bool:
    """Return whether numbers of a type are equal exactly if their bits are."""
    return not isinstance(elem, PtrType) and not elem.is_float


def _numbers(read: Read) -> list[Value] | None:
    """Return the scalars a statement reads; None if it reads memory that may change."""
    match read:
        case ReadView(access=access) if is_constant(read):
            given = [] if access.guard is None else [access.guard]
            return [*access.where, *given, *_in_index(read.index)]
        case Compute():
            return [a for a in read.args if isinstance(a, Value)]
        case Position():
            return _in_index((read.axis,))
        case _:
            return None


def _in_index(index: Index) -> list[Value]:
    return [f.source for axis in index for f in axis if isinstance(f.source, Value)]


# The choice.

Choice: TypeAlias = tuple[Candidate, tuple[Row, ...]]
"""A tile to be shared, and the rows of a group that it differs along."""


def _chosen(found: list[Candidate], roots: Roots) -> tuple[list[Choice], Grouping | None]:
    """Return the tiles that adjacent blocks share, and the order in which these blocks run."""
    axes = sorted(set(roots.axes.values()))
    if not axes:
        return [], None
    column = axes[-1]
    row = axes[-2] if len(axes) > 1 else None
    along = [tile for tile in found if column not in tile.places]
    across = [tile for tile in found if column in tile.places and row not in tile.places]
    alone: list[Choice] = [(tile, ()) for tile in along]
    if row is None or not across:
        return alone, None
    rows = max(1, min(GROUP_ELEMENTS // min(t.rows for t in across), MAX_ROWS))
    if rows == 1:
        return alone, None
    grouped = [(tile, _rows_along(tile, {row: rows})) for tile in [*along, *across]]
    return grouped, Grouping(row, column, rows)


def _met_again(found: list[Candidate]) -> tuple[list[Choice], None]:
    """Return the tiles that a block which visits tile after tile uses again soon.

    Inside a group it goes back and forth along all axes that have more than one tile there; else
    along the last axis.
    """
    chosen: list[Choice] = []
    for tile in found:
        sizes = {axis: size for axis, size in enumerate(tile.groups) if size > 1}
        soon = {*sizes, len(tile.groups) - 1}
        if not soon <= set(tile.places):
            chosen.append((tile, _rows_along(tile, sizes)))
    return chosen, None


def _rows_along(tile: Candidate, sizes: dict[int, int]) -> tuple[Row, ...]:
    """Return the rows of a group that a tile differs along."""
    return tuple(Row(tile.places[axis], n) for axis, n in sizes.items() if axis in tile.places)


def _sets(rows: tuple[Row, ...]) -> int:
    """Return the number of sets of copies of a tile: one for each row."""
    return prod(row.size for row in rows)


def _words(tile: Candidate) -> int:
    """Return the number of words that identify the tile in a copy."""
    return 1 + len(tile.key)


def _bytes(tile: Candidate) -> int:
    """Return the size in bytes of one more copy."""
    return tile.buffer.bytes + itemsize(i64) * _words(tile)


def _share(plan: Plan, tile: Candidate, rows: tuple[Row, ...], copies: int) -> None:
    """Allocate the copies of a tile, and fill one only if it does not hold the tile."""
    buffer, body = tile.buffer, tile.loop.body
    buffer.copies = copies * _sets(rows)
    buffer.why += ", for several tiles" if tile.groups else ", by several blocks"
    layout = row_major((buffer.copies, _words(tile)))
    tags = TileBuffer(f"{buffer.name}_tags", i64, layout, "they tell which tiles are there")
    for new in (buffer, tags):
        plan.offsets[new] = plan.scratch_bytes
        plan.scratch_bytes += ceil_div(new.bytes, SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
    statements, visited = list(tile.statements), bool(tile.groups)
    whole = SharedStmt(buffer, tags, tile.key, tile.loop.iv, statements, rows, visited)
    at = body.index(tile.statements[-1])
    body[at] = whole
    for statement in tile.statements[:-1]:
        body.remove(statement)
