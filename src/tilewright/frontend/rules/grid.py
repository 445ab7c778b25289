"""Rules of the grid family: where this block stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import Code
from ...ir.core import Value
from ..emit import Emitter
from . import mapped


def _block_id(em: Emitter, axis: Any) -> Value:
    return em.emit("block_id", axis=_grid_axis(em, axis))


def _num_blocks(em: Emitter, axis: Any) -> int | Value:
    number = _grid_axis(em, axis)
    if em.signature.grid is not None:
        return em.signature.grid[number] if number < len(em.signature.grid) else 1
    return em.emit("num_blocks", axis=number)


def _grid_axis(em: Emitter, axis: Any) -> int:
    number, rank = em.static_int(axis, "grid axis"), em.signature.grid_rank
    if not 0 <= number < rank:
        em.fail(
            Code.RANK,
            f"the grid has no axis {number}",
            expected=f"0 to {rank - 1}",
            got=str(number),
        )
    return number


def _get_tile_block_id(em: Emitter) -> tuple[Value, ...]:
    return tuple(_block_id(em, k) for k in range(3))


def _get_num_tile_blocks(em: Emitter) -> tuple[int | Value, ...]:
    return tuple(_num_blocks(em, k) for k in range(3))


RULES: dict[str, Callable[..., Any]] = {
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "get_tile_block_id": _get_tile_block_id,
    "get_num_tile_blocks": _get_num_tile_blocks,
    **mapped.RULES,
}
PROPERTIES: frozenset[str] = mapped.PROPERTIES
