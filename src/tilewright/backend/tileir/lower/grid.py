"""Where this block stands: logical indices, made in the kernel's first lines."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..program.core import Val
from .emitter import Emitter, Rule


def _block_id(em: Emitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (em.block[axis],)


def _num_blocks(em: Emitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (em.grid[axis],)


RULES: dict[str, Rule] = {"block_id": _block_id, "num_blocks": _num_blocks}
