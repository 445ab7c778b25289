"""Instructions of a GPU, written out by the author of a SIMT kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ..opdef import declare
from ..types import TileType, Type
from .atomics import BOTH
from .rules import Attrs, need, number


def _inline(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    for t in types:
        need(number(t).rank == 0, f"expected a scalar, got {t}")
    return tuple(TileType(dtype) for dtype in attrs["dtypes"])


OPS = (
    declare("inline_ptx", "simt", "value*", _inline,
            "What the text does: $0, $1, ... are its results, then the values it is given.",
            attrs={"text": "", "dtypes": ()}, effects=BOTH),
)  # fmt: skip
