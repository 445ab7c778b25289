"""Where a thread of a SIMT kernel stands. Axes are x, y and z, as in launch configurations."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import i32
from ..attrs import Place
from ..opdef import declare
from ..types import I32, Type
from .rules import Attrs, need, scalar


def _index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (I32,)


def _index_2d(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    return (I32,)


def _place(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    axes = 1 if attrs["what"] in (Place.LANE, Place.WARP) else 3
    need(attrs["axis"] in range(axes), f"no axis {attrs['axis']}")
    return (I32,)


OPS = (
    declare("index_1d", "simt", "", _index,
            "This thread's number along x; the largest i32, which is beyond every slice, where the"
            " launch has threads along y or z."),
    declare("index_2d", "simt", "width", _index_2d,
            "row * width + column, of the thread's place along y and x; the largest i32 where the"
            " column is not below width, the launch has threads along z, or it would not fit."),
    declare("place", "simt", "", _place,
            "A plain number along `axis`: of the thread in its block, of the block, or a size; or"
            " of the lane in its warp, or of the warp.",
            attrs={"what": Place.THREAD, "axis": 0}),
)  # fmt: skip
