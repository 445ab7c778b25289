"""What a SIMT kernel may not contain: tiles, and the words of tile kernels."""

from __future__ import annotations

from ..base.errors import Code
from ..ir.core import Block, Op
from ..ir.ops import FAMILIES
from ..ir.types import TileType
from .emit import Emitter

OF_THREADS = (
    "control", "arithmetic", "math", "comparison", "bitwise", "conversion", "debug", "pointer",
    "atomics", "threads", "slices", "shared", "warps", "assembly",
)  # fmt: skip
"""Families whose ops work on scalars."""
ALLOWED = frozenset(op.name for family in OF_THREADS for op in FAMILIES[family]) | {"constant"}


def refuse_tiles(em: Emitter, body: Block) -> None:
    """Refuse the first op that is not about one thread."""
    for op in body.walk():
        if op.name not in ALLOWED:
            em.fail(
                Code.CALL,
                f"`{op.name}` is not supported in a SIMT kernel",
                span=op.span,
                expected="operations of one thread: scalars, and elements of slices",
                got="an operation of tile kernels",
                hint="write a tile kernel: @tw.entry",
            )
        if any(_is_tile(op, i) for i in range(len(op.results))):
            em.fail(
                Code.CALL,
                "a SIMT kernel has no tiles",
                span=op.span,
                expected="scalars",
                got=str(op.results[0].type),
                hint="each thread works on its own element; or write a tile kernel: @tw.entry",
            )


def _is_tile(op: Op, number: int) -> bool:
    kind = op.results[number].type
    return isinstance(kind, TileType) and kind.rank > 0
