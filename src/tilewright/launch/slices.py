"""Binds tensors to the slices of a SIMT kernel: the elements of a contiguous tensor in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from ..base.dtypes import AnyDType
from ..base.errors import BorrowError, ShapeError
from ..base.shapes import Shape, size
from ..frontend.capture.parameters import Parameter
from ..op.core import is_op
from ..op.place import here, place_of
from ..tensors.arc import Arc
from ..tensors.layout import MOST_KEPT, Layout, Tiling, row_major
from ..tensors.partition import Partition
from ..tensors.tensor import BorrowMut, Tensor
from .arguments import Arg, Bound, OutputArg, TensorArg, is_borrow, is_tensor, kind_of
from .binding import Binder, named_array
from .grid import MAX_EXTENT


class Flat(Tiling):
    """The elements of a tensor in a row; `shape` is that of the tensor."""

    __slots__ = ("shape",)

    def __init__(self, layout: Layout) -> None:
        super().__init__(flattened(layout.dtype, layout.shape), (1,))
        self.shape = layout.shape


def flattened(dtype: AnyDType, shape: Shape) -> Layout:
    """Return the layout of the elements of a contiguous tensor in a row."""
    return row_major(dtype, (size(shape),))


@lru_cache(MOST_KEPT)
def flat(layout: Layout) -> Flat:
    """Return the elements of a tensor of this layout in a row; the same object each time."""
    return Flat(layout)


class SliceBinder(Binder):
    """Binds calls of one SIMT kernel."""

    @property
    def whole(self) -> list[bool]:
        """All outputs are."""
        return [True] * len(self.outputs)

    def as_output(self, borrow: BorrowMut[Any]) -> Partition[Any]:
        """Return a borrow as an output of a launch: its elements in a row."""
        return uncut(borrow)

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any]) -> Bound:
        """Return the arguments by kind; what is written is taken as a row of elements."""
        pairs = zip(self._parameters, values, strict=True)
        given = [self._written(p, v) if p.kind == "output" else v for p, v in pairs]
        return super().bind(given, keywords)

    def describe(self, bound: Bound) -> tuple[Arg, ...]:
        """Return the known properties of each argument; tensors as a row of elements."""
        kernel = self._kernel.name
        for p, region in zip(self._memory(), bound.memory, strict=True):
            _refuse_unfit(kernel, p, region.layout)
        return tuple(_as_slice(arg) for arg in super().describe(bound))

    def _memory(self) -> list[Parameter]:
        """Return the parameters with memory, in the order of `Bound.memory`."""
        return [self._parameters[i] for i in (*self.outputs, *self.inputs)]

    def _written(self, p: Parameter, value: Any) -> Partition[Any]:
        if is_borrow(value):
            value.check_usable()
            return uncut(value)
        if is_tensor(value) and value.was_handed_over:
            ticket = value.borrow_exclusive(f"borrowed for writing by `{self._kernel.name}`")
            return Partition(value, flat(value.region.layout), ticket, owned=True)
        return _refuse_unborrowed(self._kernel.name, p, value)


def uncut(borrow: BorrowMut[Any]) -> Partition[Any]:
    """Return a borrow as an output of a launch, which borrows from it."""
    tensor = borrow.tensor
    return Partition(tensor, flat(tensor.region.layout), borrow.ticket)


def _as_slice(arg: Arg) -> Arg:
    if not isinstance(arg, TensorArg):
        return arg
    return TensorArg(arg.parameter, flattened(arg.layout.dtype, arg.layout.shape), arg.home)


def refuse_gaps(kernel: str, p: Parameter, layout: Layout) -> None:
    """Raise if the elements of a tensor are not adjacent."""
    if not layout.is_contiguous:
        raise ShapeError(
            f"`{p.name}` of `{kernel}` must be contiguous: a slice is contiguous memory",
            expected="elements one after the other in memory, in row-major order",
            got=f"shape {layout.shape}, strides {layout.strides}",
            hint="copy it first: t.dup() of a tensor, np.ascontiguousarray(a) of an array",
        )


def _refuse_unfit(kernel: str, p: Parameter, layout: Layout) -> None:
    refuse_gaps(kernel, p, layout)
    if size(layout.shape) > MAX_EXTENT:
        raise ShapeError(
            f"`{p.name}` of `{kernel}` is too long for a slice",
            expected=f"at most {MAX_EXTENT} elements",
            got=f"shape {layout.shape}, {size(layout.shape)} elements",
            hint="launch the kernel on parts of it: t[a:b]",
        )


def _refuse_unborrowed(kernel: str, p: Parameter, value: Any) -> NoReturn:
    forms = f"pass {p.name}.borrow_mut() to write in place, or tw.move({p.name}) to move it"
    known: dict[type, tuple[str, str]] = {
        Tensor: ("a plain tensor (a shared borrow)", forms),
        Arc: ("an Arc (a shared owner)", "take the tensor out of its only handle: unwrap_arc()"),
        Partition: ("a Partition", "pass p.unpartition().borrow_mut()"),
        np.ndarray: ("a NumPy array", "pass tw.asarray(a).borrow_mut()"),
    }
    strange = (named_array(value), f"pass tw.asarray({p.name}).borrow_mut()")
    what, hint = known.get(kind_of(value), strange)
    if not what:
        kind = "an op" if is_op(value) else type(value).__name__
        raise TypeError(f"`{p.name}` of `{kernel}` must be {p.name}.borrow_mut(), got {kind}")
    raise BorrowError(
        f"`{p.name}` of `{kernel}` is written, but got {what}",
        places=(("here", place_of(here())),),
        hint=hint,
    )


def lengths(args: Sequence[Arg]) -> dict[str, Shape]:
    """Return the shapes of the tensors that are written, by parameter."""
    return {
        arg.parameter.name: arg.tiling.shape
        for arg in args
        if isinstance(arg, OutputArg) and isinstance(arg.tiling, Flat)
    }
