"""Converts tensors to other element types, by the rules that kernels have for `astype`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import lang as tl
from ..base.dtypes import AnyDType, DType, f4e2m1fnx2
from ..base.errors import ShapeError
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp, is_op
from ..op.running import Steps
from ..tensors.create import DTypeLike, asarray, planned
from ..tensors.foreign import is_array
from ..tensors.op_borrows import OpBorrow, borrow_to_read
from ..tensors.ownership import Handle
from ..tensors.region import Region
from ..tensors.tensor import Tensor, new_tensor
from ..tensors.views import in_memory
from .capturing import kernel
from .writing import flat_pieces, launched, tile_of

if TYPE_CHECKING:
    from ..devices.protocol import Device

E = TypeVar("E", bound=DType)
F = TypeVar("F", bound=DType)


@kernel
def store_converted(out: tl.TensorMut[E], x: tl.Tensor[F]) -> None:
    """Store each element of x in out's type."""
    out.store(tl.load_tile_like(x, out).astype(out.dtype))


class Convert(Composite[Tensor[Any]]):
    """Makes a tensor with another's elements, converted; where the other one lives."""

    holds = ("_reading", "_source")

    def __init__(self, source: Any, dtype: AnyDType) -> None:
        self._dtype = dtype
        self._source: DeviceOp[Any] | None = None
        self._reading: OpBorrow | None = None
        if is_op(source):
            source.claim(self.name)
            self._source, self.made_of = source, (source,)
        else:
            self._reading = self._given(source)

    @property
    def name(self) -> str:
        """Always `convert`."""
        return "convert"

    @property
    def home(self) -> Device | None:
        """Where the source lives."""
        if self._reading is not None:
            return self._reading.region.storage.device
        return None if self._source is None else self._source.home

    def check_standing(self) -> None:
        """Raise if the borrow has ended."""
        if self._reading is not None:
            self._reading.check_standing()

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return what it reads, if that is borrowed."""
        return None if self._reading is None else self._reading.borrows(given)

    def give_back(self) -> None:
        """Return the source to its origin."""
        if self._reading is not None:
            self._reading.give_back()

    def _given(self, source: Any) -> OpBorrow:
        handle = asarray(source) if is_array(source) else getattr(source, "value", source)
        if not isinstance(handle, Handle):
            raise TypeError(f"`convert` takes a tensor or an array, got {type(source).__name__}")
        _refuse_pairs(handle.region.dtype, self._dtype)
        return borrow_to_read(handle, "convert")

    def steps(self, ctx: ExecutionContext) -> Steps[Tensor[Any]]:
        """Run the op that gives the source, if there is one; then allocate, and launch."""
        if self._source is not None:
            self._reading = self._given((yield self._source))
        lent = self._reading
        assert lent is not None
        lent.check(ctx)
        source = lent.region
        plan = planned(self.name, source.shape, self._dtype, source.storage.device)
        target = plan.allocate(ctx.creating(self.name))
        for out, x in _pieces(target, source):
            tiles = new_tensor(out).partition_mut(tile_of(out.shape))
            x_read = Tensor[Any](x, None, lent.ticket)
            yield from launched(self, ctx, partial(store_converted, tiles, x_read))
        lent.settle(ctx)
        if not ctx.is_capturing:
            target.mark_written()
        return new_tensor(target)


def _pieces(target: Region, source: Region) -> Iterator[tuple[Region, Region]]:
    """Return both in one shape: flat where the source is contiguous, else unchanged."""
    if not source.layout.is_contiguous:
        return iter([(target, source)])
    flat = zip(flat_pieces(target), flat_pieces(source), strict=True)
    return ((out, x) for (out, _), (x, _) in flat)


def _refuse_pairs(given: AnyDType, wanted: AnyDType) -> None:
    if f4e2m1fnx2 in (given, wanted) and given is not wanted:
        raise ShapeError(
            "pairs of f4e2m1fn are not converted as such",
            expected="elements that are one number each",
            got=f"{given.name} to {wanted.name}",
            hint="use tile.pack() and tile.unpack() in a kernel",
        )


@overload
def convert(source: Any, dtype: type[E]) -> DeviceOp[Tensor[E]]: ...
@overload
def convert(source: Any, dtype: DTypeLike) -> DeviceOp[Tensor[Any]]: ...
def convert(source: Any, dtype: DTypeLike) -> DeviceOp[Tensor[Any]]:
    """Convert a tensor, an array or an op's result to another element type, in a new tensor.

    Floats round to nearest, floats to integers round toward zero and saturate; integers wrap.
    """
    return Convert(source, in_memory(dtype))
