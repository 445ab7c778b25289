"""Which views of the IR Tile IR can express: from a ViewType to a type of Tile IR, or None."""

from __future__ import annotations

import math

from ...base.dtypes import AnyDType, f8e8m0fnu
from ...ir.types import TensorType, ViewType
from .encoding.versions import V13_3, Version
from .program.types import SCALAR_OF, Padding, PartitionView, StridedView, TensorView


def tensor_view(tensor: TensorType) -> TensorView | None:
    """A tensor; None where a static extent or stride is not positive, as Tile IR demands."""
    if any(n is not None and n <= 0 for n in (*tensor.shape, *tensor.strides)) or not tensor.rank:
        return None
    return TensorView(SCALAR_OF[tensor.dtype], tensor.shape, tensor.strides)


def tile_view(
    view: ViewType, version: Version, *, padded: bool
) -> PartitionView | StridedView | None:
    """A view whose index counts tiles of the whole tensor; None if Tile IR has none like it.

    With a frame it is the view of the tensor whose tiles are those of the frames; that exists
    where tiles do not reach from one frame into the next.
    """
    tensor = tensor_view(view.tensor)
    if tensor is None or view.sparse is not None or not _frames_fit(view):
        return None
    padding = None
    if padded and view.padding is not None:
        padding = padding_of(view.padding, view.tensor.dtype)
        if padding is None:
            return None
    steps = view.step or view.tile
    if steps == view.tile:
        return PartitionView(view.tile, tensor, view.dim_map, padding)
    if version < V13_3:
        return None
    return StridedView(view.tile, steps, tensor, view.dim_map, padding)


def tiles_per_frame(view: ViewType, axis: int) -> int:
    """How many tiles lie side by side in one frame, along a tile axis."""
    assert view.frame is not None, "only views with frames have tiles in them"
    return view.frame[view.dim_map[axis]] // (view.step or view.tile)[axis]


def _frames_fit(view: ViewType) -> bool:
    if view.frame is None:
        return True
    steps = view.step or view.tile
    return steps == view.tile and all(
        view.frame[axis] % steps[k] == 0 for k, axis in enumerate(view.dim_map)
    )


def padding_of(value: float | int, dtype: AnyDType) -> Padding | None:
    """The padding that Tile IR knows by name; None for all others."""
    if dtype is f8e8m0fnu:
        return None
    if not dtype.is_float:
        return Padding.zero if value == 0 else None
    if math.isnan(value):
        return Padding.nan
    if math.isinf(value):
        return Padding.pos_inf if value > 0 else Padding.neg_inf
    if value != 0:
        return None
    return Padding.neg_zero if math.copysign(1.0, value) < 0 else Padding.zero
