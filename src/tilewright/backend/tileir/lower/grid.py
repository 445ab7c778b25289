"""Where this block stands: logical indices, made in the kernel's first lines."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.tile_order import Numbers, tile_index
from ....ir.core import Op
from ..encoding.enums import Rounding, Signedness
from ..program.core import Val
from .emitter import Emitter, Rule


def _block_id(em: Emitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (em.block[axis],)


def _num_blocks(em: Emitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (em.grid[axis],)


def _tile_index(em: Emitter, op: Op) -> Sequence[Val]:
    number, counts = em.get(op.one("number")), [em.get(v) for v in op.all("counts")]
    index = tile_index(number, counts, op.attrs["groups"], numbers(em))
    starts = [em.get(v) for v in op.all("starts")]
    if not starts:
        return index
    return [em.same("addi", at, start) for at, start in zip(index, starts, strict=True)]


def numbers(em: Emitter) -> Numbers[Val]:
    """How to calculate indices with instructions.

    Nothing is below 0: divisions that knew signs would take half as many instructions again.
    """
    return Numbers(
        constant=em.index,
        add=lambda a, b: em.same("addi", a, b),
        subtract=lambda a, b: em.same("subi", a, b),
        multiply=lambda a, b: em.same("muli", a, b),
        divide=lambda a, b: em.same(
            "divi", a, b, signedness=Signedness.UNSIGNED, rounding=Rounding.ZERO
        ),
        least=lambda a, b: em.same("mini", a, b, signedness=Signedness.SIGNED),
    )


RULES: dict[str, Rule] = {
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "tile_index": _tile_index,
}
