"""Tensors of one value, and the identity: bits are written, so every element type is alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np

from .. import lang as tl
from ..base.dtypes import AnyDType, DType, as_dtype, f4e2m1fn, f4e2m1fnx2, f32, u8, u16, u32, u64
from ..launch.scalars import check_scalar, slot_of
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp, is_op
from ..op.running import Steps
from ..tensors.create import Creation, DeviceLike, DTypeLike, Plan, plan_like, planned, refuse_order
from ..tensors.layout import layout_of
from ..tensors.op_borrows import OpBorrow, borrow_to_write, written_region
from ..tensors.region import Region
from ..tensors.shape import ShapeLike
from ..tensors.tensor import BorrowMut, Tensor, new_tensor
from .capturing import kernel
from .writing import BITS, TILE, Made, launched, lent_parts, with_dtype

if TYPE_CHECKING:
    from ..devices.protocol import Device
    from ..tensors.op_borrows import Lender
    from ..tensors.ownership import Handle

E = TypeVar("E", bound=DType)
T = TypeVar("T")
U = TypeVar("U", u8, u16, u32, u64)


@kernel
def store_bits(out: tl.TensorMut[U], bits: U) -> None:
    """Write the same bits to every element."""
    out.store(tl.full(out.shape, bits, out.dtype))


def bits_of(op: str, value: Any, dtype: AnyDType) -> int:
    """Return a value as the bits of an element; a ShapeError if the type does not hold it."""
    if dtype is f4e2m1fnx2:  # the same value in both halves
        return slot_of(f4e2m1fn, check_scalar(op, "value", f4e2m1fn, value)) * 0x11
    return slot_of(dtype, check_scalar(op, "value", dtype, value)) & ((1 << 8 * dtype.itemsize) - 1)


def _filled(plan: Plan, value: Any) -> DeviceOp[Tensor[Any]]:
    bits = bits_of(plan.name, value, plan.dtype)
    return Made(plan, lambda part: store_bits(part.out, bits), as_bits=True)


@overload
def ones(shape: ShapeLike, *, device: DeviceLike = None) -> DeviceOp[Tensor[f32]]: ...
@overload
def ones(shape: ShapeLike, dtype: type[E], *, device: DeviceLike = None) -> DeviceOp[Tensor[E]]: ...
@overload
def ones(
    shape: ShapeLike, dtype: DTypeLike, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def ones(
    shape: ShapeLike, dtype: DTypeLike = f32, *more: Any, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor of ones."""
    if more:
        refuse_order("ones", shape, dtype, *more)
    plan = planned("ones", shape, dtype, device)
    return _filled(plan, True if plan.dtype.is_bool else 1)


@overload
def full(shape: ShapeLike, value: int, *, device: DeviceLike = None) -> DeviceOp[Tensor[Any]]: ...
@overload
def full(shape: ShapeLike, value: float, *, device: DeviceLike = None) -> DeviceOp[Tensor[f32]]: ...
@overload
def full(
    shape: ShapeLike, value: Any, dtype: type[E], *, device: DeviceLike = None
) -> DeviceOp[Tensor[E]]: ...
@overload
def full(
    shape: ShapeLike, value: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def full(
    shape: ShapeLike, value: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor filled with one value, whose type is the default dtype."""
    if type(value) in (tuple, list) and isinstance(shape, int | float):
        raise TypeError(f"`full` takes the shape first: tw.full({tuple(value)}, {shape!r})")
    found = dtype_of(value) if dtype is None else dtype
    return _filled(planned("full", shape, found, device), value)


def ones_like(
    other: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor of ones with the shape, dtype and device of another."""
    plan = plan_like("ones_like", other, dtype, device)
    return _filled(plan, True if plan.dtype.is_bool else 1)


def full_like(
    other: Any, value: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor filled with one value, with the shape, dtype and device of another."""
    if isinstance(other, int | float):
        raise TypeError(f"`full_like` takes the tensor first: tw.full_like(x, {other!r})")
    return _filled(plan_like("full_like", other, dtype, device), value)


def dtype_of(value: Any) -> AnyDType:
    """Return the default element type of a number."""
    if isinstance(value, DType):
        return type(value)
    if _is_numpy_scalar(value):
        return as_dtype(value.dtype)
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return as_dtype(kind)
    raise TypeError(f"`full` takes a number, got {type(value).__name__}")


def _is_numpy_scalar(value: object) -> bool:
    return isinstance(value, np.generic)


def eye(n: int, dtype: DTypeLike = f32, *, device: DeviceLike = None) -> DeviceOp[Tensor[Any]]:
    """Create the identity matrix of n rows."""
    return Eye(planned("eye", (n, n), dtype, device))


def eye_rect(
    rows: int, columns: int, dtype: DTypeLike = f32, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Create a matrix with ones on its main diagonal and zeros elsewhere."""
    return Eye(planned("eye_rect", (rows, columns), dtype, device))


class Eye(Creation):
    """Creates zeros, whose main diagonal, a strided view, a kernel fills with ones."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._one = bits_of(plan.name, True if plan.dtype.is_bool else 1, plan.dtype)

    def make(self, ctx: ExecutionContext) -> Steps[Tensor[Any]]:
        """Allocate, and launch."""
        region = self._plan.allocate(ctx, zeroed=True)
        rows, columns = region.shape
        layout = layout_of(BITS[region.dtype.itemsize], (min(rows, columns),), (columns + 1,))
        diagonal = new_tensor(Region(region.storage, layout, region.address))
        tiles = diagonal.partition_mut((TILE,))
        yield from launched(self, ctx, lambda: store_bits(tiles, self._one))
        return new_tensor(region)


class Fill(Composite[T]):
    """Overwrites a tensor with one value. It allocates nothing, so it can be part of a graph."""

    holds = ("_bound", "_source")

    def __init__(self, target: T | DeviceOp[T], value: Any) -> None:
        self._value = value
        self._bound: tuple[T, OpBorrow, int] | None = None
        self._source: DeviceOp[T] | None = None
        if is_op(target):
            target.claim(self.name)
            self._source, self.made_of = target, (target,)
        else:
            self._bound = self._bind(cast("T", target))
        self.effect = True

    @property
    def name(self) -> str:
        """Always `fill`."""
        return "fill"

    @property
    def home(self) -> Device | None:
        """Where the tensor lives."""
        if self._bound is not None:
            return self._bound[1].region.storage.device
        return None if self._source is None else self._source.home

    def check_standing(self) -> None:
        """Raise if the borrow has ended."""
        if self._bound is not None:
            self._bound[1].check_standing()

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return what it writes, if that is borrowed."""
        return None if self._bound is None else self._bound[1].borrows(given)

    def give_back(self) -> None:
        """Return the tensor to its origin."""
        if self._bound is not None:
            self._bound[1].give_back()

    def _bind(self, target: T) -> tuple[T, OpBorrow, int]:
        bits = bits_of("fill", self._value, written_region(target, "fill").dtype)
        return target, borrow_to_write(cast("Handle | Lender", target), "fill"), bits

    def steps(self, ctx: ExecutionContext) -> Steps[T]:
        """Run the op that gives the tensor, if there is one; then launch."""
        if self._source is not None:
            self._bound = self._bind((yield self._source))
        assert self._bound is not None
        target, lent, bits = self._bound
        if self._source is None:
            ctx.borrowed(target)
        lent.check(ctx)
        seen = with_dtype(lent.region, BITS[lent.region.dtype.itemsize])
        for part in lent_parts(lent, seen):
            yield from launched(self, ctx, partial(store_bits, part.out, bits))
        lent.settle(ctx)
        return target


@overload
def fill(target: Tensor[E] | DeviceOp[Tensor[E]], value: Any) -> DeviceOp[Tensor[E]]: ...
@overload
def fill(target: BorrowMut[E] | DeviceOp[BorrowMut[E]], value: Any) -> DeviceOp[BorrowMut[E]]: ...
def fill(target: Any, value: Any) -> DeviceOp[Any]:
    """Overwrite a tensor with one value, in place; return the tensor.

    It allocates nothing, so a graph can record it.
    """
    return Fill(target, value)
