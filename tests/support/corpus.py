"""Kernels that try to get outside of a tensor: bodies by name, and launches to try them with.

Every body reads into `total`; `i` is the block, or the tile or thread it is at, `n` and `m` are
numbers, `where` holds data. What stands around a body, and how it is launched, its family says.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import tilewright as tw

IMPORTS = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, i64, simt
"""
INPUTS = """x: tl.Tensor[f32], y: tl.Tensor[f32],
          s: tl.Tensor[f32, tl.Dyn, tl.Dyn], where: tl.Tensor[i32], n: i32, m: i32"""

HEAD = """
@tw.entry
def probe(z: tl.TensorMut[f32], {inputs}) -> None:
    i = tl.block_id(0)
    xs, ys = x.partition((4,)), y.partition((4,))
    total = tl.zeros((4,), f32)
"""
TAIL = "    z.store(total)"
MAPPED = """
@tw.entry
def probe(z: tl.MappedPartitionMut[f32], {inputs}) -> None:
    xs, ys = x.partition((4,)), y.partition((4,))
    for index in z.iter_indices():
        (i,) = index
        total = tl.zeros((4,), f32)
"""
WITHIN = MAPPED.replace("z.iter_indices()", "z.iter_indices_within(((n, m),))")
ROWS = """
@tw.entry
def probe(z: tl.MappedPartitionMut[f32], {inputs}) -> None:
    xs, ys, tiles = x.partition((4,)), y.partition((4,)), s.partition((4, 4))
    for index in z.iter_indices():
        i, j = index
        total = tl.zeros((4, 4), f32)
"""
PICKED = (
    HEAD.replace("@tw.entry", "@tw.entry(unsafe=True)")
    + """
    rows = tl.make_gather_scatter_view(s, (4, 4), 0, padding=0)
    tile = tl.zeros((4, 4), f32)
"""
)
CHOSEN = PICKED.replace("@tw.entry(unsafe=True)", "@tw.entry").replace(", padding=0", "")
THREADS = """
@simt.kernel(block=4)
def probe(z: simt.DisjointSlice[f32], x: simt.Slice[f32], y: simt.Slice[f32], s: simt.Slice[f32],
          where: simt.Slice[i32], n: i32, m: i32) -> None:
    i = simt.index_1d()
    total: float = f32(0)
"""


def _loop(over: str, *body: str) -> str:
    return "\n".join([f"for k in range({over}):", *(f"    {line}" for line in body)])


def _if(condition: str, *body: str) -> str:
    return "\n".join([f"if {condition}:", *(f"    {line}" for line in body)])


def _at(index: str) -> str:
    return f"total = total + xs.load([{index}])"


LOAD = "total = total + "
COUNT = "tl.num_tiles(xs, 0)"
OTHER = "tl.num_tiles(ys, 0)"
DATA = "where.load_tile((1,), [0]).item()"

INDICES = {
    "constant": "0", "constant 2": "2", "block": "i", "block and number": "i + n",
    "block less number": "i - n", "negated block": "-i", "number less block": "n - i",
    "number": "n", "negated number": "-n", "sum of numbers": "n + m", "product": "n * m",
    "wrapped product": "i * 65536 * 65536 + i", "wrapped sum": "(n + 2147483647) - 2147483647",
    "there and back": "(i + n) - n", "doubled": "i * 2", "halved": "i // 2", "odd or even": "i % 2",
    "remainder by number": "i % n", "quotient by number": "i // n",
    "number by block": "n // (i + 1)",
    "divided by zero": "(i + 1) // (n - n)", "remainder by zero": "i % (n - n)",
    "rounded up": "tl.ceil_div(i, 2)", "rounded up by number": "tl.ceil_div(i, n)",
    "at most the last": f"min(i, {COUNT} - 1)",
    "at most the last of another": f"min(i, {OTHER} - 1)",
    "at least zero": "max(n, 0)", "brought inside": f"min(max(n, 0), {COUNT} - 1)",
    "brought inside wrongly": f"max(min(n, {COUNT}), 0)", "magnitude": "abs(n)",
    "shifted left": "i << 1", "shifted right": "i >> 1", "shifted by number": "1 << n",
    "masked": "i & 1", "masked number": "n & 3", "same block twice": "i * 2 - i",
    "swizzled": "(i // 2) * 2 + i % 2", "from the end": f"{COUNT} - 1 - i",
    "from the end of the grid": "tl.num_blocks(0) - 1 - i", "past the grid": "tl.num_blocks(0)",
    "second axis of the grid": "tl.block_id(1)", "data": DATA, "data brought inside":
    f"min(max({DATA}, 0), {COUNT} - 1)", "remainder of data": f"{DATA} % {COUNT}",
    "chosen": "i if n > 0 else 0", "chosen by data": f"i if {DATA} > 0 else n",
    "narrow and back": "i32(i64(n))", "extent": "x.shape[0]", "last element": "x.shape[0] - 1",
    "quotient of the extent": "x.shape[0] // 8", "tiles of another": f"{OTHER} - 1",
}  # fmt: skip

BODIES = {
    **{f"index: {name}": _at(index) for name, index in INDICES.items()},
    "loop: own tiles": _loop(COUNT, _at("k")),
    "loop: tiles of another": _loop(OTHER, _at("k")),
    "loop: to a number": _loop("n", _at("k")),
    "loop: from a number": _loop(f"n, {COUNT}", _at("k")),
    "loop: between numbers": _loop("n, m", _at("k")),
    "loop: least of both": _loop(f"min(n, {COUNT})", _at("k")),
    "loop: least of data": _loop(f"min({DATA}, {COUNT})", _at("k")),
    "loop: greatest of both": _loop(f"max(n, {COUNT})", _at("k")),
    "loop: one too far": _loop(f"{COUNT} + 1", _at("k")),
    "loop: shifted": _loop(f"{COUNT} - 1", _at("k + 1")),
    "loop: shifted too far": _loop(COUNT, _at("k + 1")),
    "loop: shifted back": _loop(f"1, {COUNT}", _at("k - 1")),
    "loop: shifted below": _loop(COUNT, _at("k - 1")),
    "loop: steps of 2": _loop(f"0, {COUNT}, 2", _at("k")),
    "loop: steps of 2, and beside": _loop(f"0, {COUNT}, 2", _at("k + 1")),
    "loop: steps of a number": _loop(f"0, {COUNT}, abs(n) + 1", _at("k")),
    "loop: backwards": _loop(f"{COUNT} - 1, -1, -1", _at("k")),
    "loop: backwards too far": _loop(f"{COUNT}, -1, -1", _at("k")),
    "loop: from the block": _loop(f"i, {COUNT}", _at("k")),
    "loop: blocks in turn": _loop(f"i, {COUNT}, tl.num_blocks(0)", _at("k")),
    "loop: down to the block": _loop(f"{COUNT} - i", _at("k + i")),
    "loop: never": _loop("0", _at("n")),
    "loop: other index": _loop(OTHER, _at("i")),
    "loop: triangle": _loop(COUNT, "for j in range(k + 1):", f"    {_at('k - j')}"),
    "loop: two, added": _loop(COUNT, f"for j in range({OTHER}):", f"    {_at('k + j')}"),
    "loop: two, multiplied": _loop("m", "for j in range(n):", f"    {_at('k * j')}"),
    "loop: left by data": _loop(OTHER, _if(f"{DATA} == k", "break"), _at("k")).replace(
        "\n    break", "\n        break"),
    "loop: skipped by data": _loop(OTHER, _if(f"{DATA} == k", "continue"), _at("k")).replace(
        "\n    continue", "\n        continue"),
    "loop: reassigned": _loop(COUNT, "k = k * 2", _at("k")),
    "loop: carried": "j = 0\n" + _loop(COUNT, _at("j"), "j = j + 1"),
    "loop: while": f"k = 0\nwhile k < {COUNT}:\n    {_at('k')}\n    k = k + 1",
    "loop: while data": f"k = 0\nwhile k < {DATA}:\n    {_at('k')}\n    k = k + 1",
    "branch: block below number": _if("i < n", _at("i")),
    "branch: block below tiles": _if(f"i < {COUNT}", _at("i")),
    "branch: number below tiles": _if(f"n >= 0 and n < {COUNT}".replace("and", "&").replace(
        "n >= 0 &", "(n >= 0) &").replace(f"n < {COUNT}", f"(n < {COUNT})"), _at("n")),
    "branch: data": _if(f"{DATA} > 0", _at("i + n")),
    "branch: data inside": _if(f"({DATA} >= 0) & ({DATA} < {COUNT})", _at(DATA)),
    "branch: number": _if("n > 0", _at("i")),
    "branch: block from number": _if("i >= n", _at("i - n")),
    "branch: equal": _if("i == n", _at("n")),
    "branch: unequal": _if("i != n", _at("i")),
    "branch: otherwise": _if("i < n", "pass") + "\nelse:\n    " + _at("i - n"),
    "branch: nested": _if("i < n", f"if i < {COUNT}:", f"    {_at('i')}"),
    "branch: either": _if("(i < n) | (i < m)", _at("i")),
    "branch: early return": _if("i >= n", "return") + "\n" + _at("i"),
    "branch: never": _if("n < n", _at("n + 100")),
    "assert: in the kernel": f"assert i + n < {COUNT}, 'no'\n" + _at("i"),
    "assert: at launch": f"assert n <= {COUNT}\n" + _loop("n", _at("k")),
    "assert: wrong equality": "assert y.shape[0] == x.shape[0]\n" + _loop(OTHER, _at("k + 1")),
    "assert: right equality": "assert y.shape[0] == x.shape[0]\n" + _loop(OTHER, _at("k")),
    "view: swapped": "xs, ys = ys, xs\n" + _loop(OTHER, _at("k")),
    "view: reassigned": _loop(COUNT, LOAD + "y.partition((4,)).load([k])"),
    "view: smaller tiles": _loop("tl.num_tiles(x.partition((2,)), 0)", _at("k")),
    "view: larger tiles": _loop("tl.num_tiles(x.partition((8,)), 0)", _at("k")),
    "view: load_tile": LOAD + "x.load_tile((4,), [i])",
    "view: like": LOAD + "tl.load_tile_like(x, z)",
    "view: like, under a condition": _if(f"{DATA} > 0", LOAD + "tl.load_tile_like(x, z)"),
    "view: permuted": "p = s.partition((4, 1), dim_map=(1, 0))\n" + _loop(
        "tl.num_tiles(p, 0)", LOAD + "p.load([k, 0]).reshape(4)"),
    "view: permuted, wrong axis": "p = s.partition((4, 1), dim_map=(1, 0))\n" + _loop(
        "tl.num_tiles(p, 1)", LOAD + "p.load([k, 0]).reshape(4)"),
    "view: permuted, wrong equality": "assert s.shape[0] == x.shape[0]\n"
    "p = s.partition((4, 1), dim_map=(1, 0))\n" + _loop(COUNT, LOAD + "p.load([k, 0]).reshape(4)"),
    "view: permuted, right equality": "assert s.shape[1] == x.shape[0]\n"
    "p = s.partition((4, 1), dim_map=(1, 0))\n" + _loop(COUNT, LOAD + "p.load([k, 0]).reshape(4)"),
    "nested: own parts": "parts = z.partition_mut((2,))\n" + _loop(
        "tl.num_tiles(parts, 0)", "parts.store(tl.ones((2,), f32), [k])"),
    "nested: at a number": "z.partition_mut((2,)).store(tl.ones((2,), f32), [n])",
    "nested: at data": f"z.partition_mut((2,)).store(tl.ones((2,), f32), [{DATA}])",
    "nested: read back": LOAD + "z.partition_mut((4,)).load([n])",
}  # fmt: skip


MORE_INDICES = (
    "block", "block and number", "doubled", "from the end", "at most the last", "data",
    "from the end of the grid", "past the grid", "same block twice", "negated block",
)  # fmt: skip

BODIES |= {
    **{f"mapped: {name}": _at(INDICES[name]) for name in MORE_INDICES if name != "block"},
    "mapped: tile": _at("i"),
    "mapped: tile and block": _at("i + tl.block_id(0)"),
    "mapped: block": _at("tl.block_id(0)"),
    "mapped: tile below number": _if("i < n", _at("i")),
    "mapped: tile below tiles": _if(f"i < {COUNT}", _at("i")),
    "mapped: block below number": _if("tl.block_id(0) < n", _at("i")),
    "mapped: from the end of its own": _at("tl.num_tiles(z, 0) - 1 - i"),
    "mapped: loop": _loop(COUNT, _at("k")),
    "mapped: loop from the tile": _loop(f"i, {COUNT}", _at("k")),
    "within: tile": _at("i"),
    "within: tile less first": _at("i - n"),
    "within: loop": _loop(OTHER, _at("k")),
    "rows: tile": "total = tiles.load([i, j])",
    "rows: tile, turned": "total = tiles.load([j, i])",
    "rows: row": LOAD + "xs.load([i])[:, None]",
    "rows: number of the tile": LOAD + "xs.load([i * z.num_tiles(1) + j])[:, None]",
    "rows: sum": LOAD + "xs.load([i + j])[:, None]",
    "rows: column where the row is small": _if("i < n", LOAD + "xs.load([j])[:, None]"),
    "rows: sum where the row is small": _if("i < n", LOAD + "xs.load([i + j])[:, None]"),
    "rows: row and block": LOAD + "xs.load([i + tl.block_id(0)])[:, None]",
    **{f"prefix: {name}": _at(INDICES[name]) for name in MORE_INDICES},
    "prefix: like": LOAD + "tl.load_tile_like(x, z)",
    "prefix: loop": _loop("tl.num_blocks(0)", _at("k")),
    "picked: rows": "tile = rows.load([tl.arange(4) + i, 0])",
    "picked: rows of a number": "tile = rows.load([tl.arange(4) * n, m])",
    "picked: rows of data": f"tile = rows.load([tl.arange(4) + {DATA}, {DATA}])",
    "picked: tile beside": _at("i"),
    "chosen: rows": "tile = rows.load([tl.arange(4) + i, 0])",
    "chosen: rows of a number": "tile = rows.load([tl.arange(4) * n, m])",
    "chosen: rows of data": f"tile = rows.load([tl.arange(4) + {DATA}, {DATA}])",
    "chosen: rows in a loop": _loop("n", "tile += rows.load([tl.arange(4) + k, k])"),
    "threads: own": "total = x[i]",
    "threads: own, twice": "total = x[i] + x[i]",
    "threads: below own": _if("i < len(z)", "total = x[i]"),
    "threads: below its length": _if("i < len(x)", "total = x[i]"),
    "threads: below another": _if("i < len(y)", "total = x[i]"),
    "threads: at most its length": _if("i <= len(x)", "total = x[i]"),
    "threads: above its length": _if("i >= len(x)", "total = x[i]"),
    "threads: both": _if("i >= 0 and i < len(x)", "total = x[i]"),
    "threads: either": _if("i < len(y) or i < len(x)", "total = x[i]"),
    "threads: neither": _if("i >= len(x) or i >= len(y)", "return") + "\ntotal = x[i] + y[i]",
    "threads: next": _if("i + 1 < len(x)", "total = x[i + 1]"),
    "threads: before": _if("i > 0 and i < len(x)", "total = x[i - 1]"),
    "threads: from the end": _if("i < len(z)", "total = x[len(x) - 1 - i]"),
    "threads: number": "total = x[n]",
    "threads: own and number": _if("i < len(x)", "total = x[i + n]"),
    "threads: first": "total = x[0]",
    "threads: first where any": _if("len(x) > 0", "total = x[0]"),
    "threads: data": _if("i < len(x)", "total = x[where[0]]"),
    "threads: data inside": _if("where[0] >= 0 and where[0] < len(x)", "total = x[where[0]]"),
    "threads: remainder of data": _if("len(x) > 0", "total = x[where[0] % len(x)]"),
    "threads: all": _loop("len(x)", "total = total + x[k]"),
    "threads: all of another": _loop("len(y)", "total = total + x[k]"),
    "threads: up to itself": _loop("i", "total = total + x[k]"),
    "threads: to a number": _loop("n", "total = total + x[k]"),
    "threads: from data": _loop("where[0], len(x)", "total = total + x[k]"),
    "threads: in turn": _loop("i, len(x), simt.grid_dim() * 4", "total = total + x[k]"),
    "threads: place in the block": "total = x[simt.thread_idx()]",
    "threads: place by hand": "total = x[simt.block_idx() * simt.block_dim() + simt.thread_idx()]",
    "threads: promised": "assert len(x) >= len(z)\n" + _if("i < len(z)", "total = x[i]"),
    "threads: promised wrongly": "assert len(x) <= len(z)\n" + _if("i < len(z)", "total = x[i]"),
    "threads: wrapped": "total = x[i * 65536 * 65536 + i]",
    "loop: from data": _loop(f"{DATA}, {COUNT}", _at("k")),
    "loop: left by returning": _loop(OTHER, f"if {DATA} == k:", "    return", _at("k")),
    "loop: carried, compared before": "j = n\n" + _loop(
        COUNT, f"if (j >= 0) & (j < {COUNT}):", "    total = total + 1.0", _at("j"), "j = j + 1"),
    "loop: under a condition of its start": _loop(f"{OTHER} - i", "if i >= n:", f"    {_at('k')}"),
    "index: zero divisor, moved": _at("x.shape[0] // (m - m) - 1"),
    "branch: both in words": _if(f"n >= 0 and n < {COUNT}", _at("n")),
    "branch: either in words": _if(f"i < n or i < {COUNT}", _at("i")),
    "branch: of what came before": "j = i - 1\n" + _if(
        "i < 1", "if j > 0:", f"    {_at('j + 100')}"),
}  # fmt: skip


class Family(NamedTuple):
    """What stands around a body, and how deep; how to cut the output and launch a probe."""

    head: str
    tail: str
    depth: int
    launch: Callable[[Any, Any, Any], Any]
    rank: int = 1
    """Of the output."""


def _plain(probe: Any, z: Any, inputs: Any) -> Any:
    return probe(z.partition_mut((4,)), *inputs)


def _mapped(probe: Any, z: Any, inputs: Any) -> Any:
    return probe(z.partition_mut((4,)).map((2,), 2), *inputs)


def _rows(probe: Any, z: Any, inputs: Any) -> Any:
    return probe(z.partition_mut((4, 4)).map((2, 1), 2), *inputs)


def _prefix(probe: Any, z: Any, inputs: Any) -> Any:
    return probe(z.partition_mut((4,)).prefix(), *inputs).grid((min(2, -(-z.shape[0] // 4)),))


def _unsafe(probe: Any, z: Any, inputs: Any) -> Any:
    with tw.unsafe():
        return _plain(probe, z, inputs)


def _threads(probe: Any, z: Any, inputs: Any) -> Any:
    return probe(z.borrow_mut(), *inputs)


PLAIN = Family(HEAD, TAIL, 1, _plain)
FAMILIES = {
    "mapped": Family(MAPPED, "        z.store(total, index)", 2, _mapped),
    "within": Family(WITHIN, "        z.store(total, index)", 2, _mapped),
    "rows": Family(ROWS, "        z.store(total, index)", 2, _rows, 2),
    "prefix": Family(HEAD, TAIL, 1, _prefix),
    "picked": Family(PICKED, "    z.store(total + tl.reduce_sum(tile, 1))", 1, _unsafe),
    "chosen": Family(CHOSEN, "    z.store(total + tl.reduce_sum(tile, 1))", 1, _plain),
    "threads": Family(THREADS, "    if i < len(z):\n        z[i] = total", 1, _threads),
}


def family(name: str) -> Family:
    """The family of a probe."""
    return FAMILIES.get(name.partition(":")[0], PLAIN)


def kernel(name: str) -> Any:
    """The kernel of a probe."""
    around = family(name)
    body = "\n".join("    " * around.depth + line for line in BODIES[name].splitlines())
    head = around.head.format(inputs=INPUTS)
    return tw.exec(f"{IMPORTS}{head}{body}\n{around.tail}\n")["probe"]


class Arguments(NamedTuple):
    """Extents and numbers of one launch."""

    z: int
    x: int
    y: int
    s: tuple[int, int]
    data: int
    n: int
    m: int


SIZES = ((16, 16, 16, (16, 16)), (5, 9, 4, (3, 9)), (1, 0, 3, (2, 0)), (13, 13, 13, (13, 2)),
         (0, 4, 8, (1, 1)), (9, 3, 13, (8, 3)))  # fmt: skip
NUMBERS = ((0, 1, 2), (3, 3, 1), (-1, -1, 3), (1, 2**31 - 1, -(2**31)), (2, -(2**31), 2))
LAUNCHES = tuple(Arguments(*size, *numbers) for size, numbers in product(SIZES, NUMBERS))
SMALL = tuple(a for a in LAUNCHES if abs(a.n) < 100 and abs(a.m) < 100)


def launches(name: str) -> tuple[Arguments, ...]:
    """Those that a probe ends with soon: loops do not count to a large number."""
    return SMALL if "for k in range" in BODIES[name] else LAUNCHES


class Outcome(NamedTuple):
    """How a launch ended: the error, or the bytes of the output."""

    error: str
    written: bytes = b""


def outcome(name: str, probe: Any, a: Arguments, **options: Any) -> Outcome:
    """Launch a probe on a poisoned output."""
    rng, around = np.random.default_rng(a.x * 1000 + a.y), family(name)
    shape = (a.z, a.y)[: around.rank]
    z = tw.from_numpy(np.full(shape, -77.5, np.float32)).sync()
    x, y, s = (rng.standard_normal(shape).astype(np.float32) for shape in (a.x, a.y, a.s))
    inputs = (x, y, s, np.array([a.data], np.int32), a.n, a.m)
    # One program for all extents, whatever divides them.
    launch = around.launch(probe, z, inputs).compile_options(max_divisibility=1, **options)
    try:
        launch.sync()
    except (tw.LaunchError, tw.CompileError) as error:
        return Outcome(str(error))
    return Outcome("", z.to_numpy().tobytes())
