"""The methods of an op that are methods of its result: `op.partition(...)` before it has run.

Each is an op that calls the method of that name once the result is there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

from ..devices.protocol import Device
from .endings import Endings

if TYPE_CHECKING:
    import numpy as np

    from ..base.dtypes import DType
    from ..tensors.arc import Arc
    from ..tensors.partition import Partition
    from ..tensors.shape import ShapeLike
    from ..tensors.tensor import Tensor
    from ..tensors.views import Range
    from .core import DeviceOp

    E = TypeVar("E", bound=DType)

R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


ADVICE = {"map": "; it takes a function, or a map shape where the result is a partition"}
"""What is said besides, by the method of the op, where a result has no such method."""


def refuse_method(verb: str, result: object) -> Never:
    """Raise for a result without a method; it is named by what it is, not by what we call on it."""
    raise TypeError(
        f"`{verb}` does not apply to the result of this op, {_described(result)}"
        f"{ADVICE.get(verb, '')}"
    )


def _described(result: object) -> str:
    name = type(result).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


class ResultMethods(Endings[T_co]):
    """What can be asked of an op because it can be asked of its result."""

    @abstractmethod
    def derived(self, function: Callable[..., R], verb: str, *extra: Any) -> DeviceOp[R]:
        """Return the op that applies a function to the result, under a name."""

    @abstractmethod
    def _forward(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        """Return the op that gives what a method of the result returns."""

    @abstractmethod
    def _follow(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        """Return the op that runs the op which a method of the result returns."""

    @overload
    def unwrap_arc(self: ResultMethods[Arc[E]]) -> DeviceOp[Tensor[E]]: ...
    @overload
    def unwrap_arc(self: ResultMethods[Tensor[E]]) -> DeviceOp[Tensor[E]]: ...
    def unwrap_arc(self: ResultMethods[Any]) -> DeviceOp[Any]:
        """Return the tensor of the resulting Arc, which must be its only owner; else the tensor."""
        return self._forward("unwrap_arc")

    @overload
    def partition(self: ResultMethods[Tensor[E]], tile: ShapeLike) -> DeviceOp[Partition[E]]: ...
    @overload
    def partition(self: ResultMethods[Arc[E]], tile: ShapeLike) -> DeviceOp[Partition[E]]: ...
    def partition(self: ResultMethods[Any], tile: ShapeLike) -> DeviceOp[Any]:
        """Partition the resulting tensor into tiles; an `Arc` must be its only owner."""
        return self._forward("partition", tile)

    @overload
    def try_partition(
        self: ResultMethods[Tensor[E]], tile: ShapeLike
    ) -> DeviceOp[Partition[E]]: ...
    @overload
    def try_partition(self: ResultMethods[Arc[E]], tile: ShapeLike) -> DeviceOp[Partition[E]]: ...
    def try_partition(self: ResultMethods[Any], tile: ShapeLike) -> DeviceOp[Any]:
        """Do as `partition`, also for an `Arc`, which must be the only owner of its tensor."""
        return self._forward("try_partition", tile)

    def unpartition(self: ResultMethods[Partition[E]]) -> DeviceOp[Tensor[E]]:
        """Return the tensor of the resulting partition."""
        return self._forward("unpartition")

    @overload
    def reshape(self: ResultMethods[Tensor[E]], *shape: ShapeLike) -> DeviceOp[Tensor[E]]: ...
    @overload
    def reshape(self: ResultMethods[Arc[E]], *shape: ShapeLike) -> DeviceOp[Arc[E]]: ...
    def reshape(self: ResultMethods[Any], *shape: ShapeLike) -> DeviceOp[Any]:
        """Move the resulting tensor into another shape. An `Arc` gives an `Arc`."""
        return self._forward("into_shape", *shape, verb="reshape")

    @overload
    def view(self: ResultMethods[Tensor[E]], *shape: ShapeLike) -> DeviceOp[Tensor[E]]: ...
    @overload
    def view(self: ResultMethods[Arc[E]], *shape: ShapeLike) -> DeviceOp[Tensor[E]]: ...
    def view(self: ResultMethods[Any], *shape: ShapeLike) -> DeviceOp[Any]:
        """Return a view of the resulting tensor with another shape."""
        return self._forward("view", *shape)

    @overload
    def slice(self: ResultMethods[Tensor[E]], *ranges: Range) -> DeviceOp[Tensor[E]]: ...
    @overload
    def slice(self: ResultMethods[Arc[E]], *ranges: Range) -> DeviceOp[Tensor[E]]: ...
    def slice(self: ResultMethods[Any], *ranges: Range) -> DeviceOp[Any]:
        """Return a view of a rectangular part of the resulting tensor."""
        return self._forward("slice", *ranges)

    @overload
    def reinterpret(
        self: ResultMethods[Tensor[Any]], dtype: type[E], shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[E]]: ...
    @overload
    def reinterpret(
        self: ResultMethods[Tensor[Any]], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[Any]]: ...
    @overload
    def reinterpret(
        self: ResultMethods[Arc[Any]], dtype: type[E], shape: ShapeLike | None = None
    ) -> DeviceOp[Arc[E]]: ...
    @overload
    def reinterpret(
        self: ResultMethods[Arc[Any]], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Arc[Any]]: ...
    def reinterpret(
        self: ResultMethods[Any], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Any]:
        """Move the resulting tensor's bytes into another type. An `Arc` gives an `Arc`."""
        return self._forward("into_type", dtype, shape, verb="reinterpret")

    @overload
    def dup(self: ResultMethods[Tensor[E]]) -> DeviceOp[Tensor[E]]: ...
    @overload
    def dup(self: ResultMethods[Arc[E]]) -> DeviceOp[Tensor[E]]: ...
    def dup(self: ResultMethods[Any]) -> DeviceOp[Any]:
        """Return a copy of the resulting tensor."""
        return self._follow("dup")

    @overload
    def to(self: ResultMethods[Tensor[E]], device: Device | str) -> DeviceOp[Tensor[E]]: ...
    @overload
    def to(self: ResultMethods[Arc[E]], device: Device | str) -> DeviceOp[Tensor[E]]: ...
    def to(self: ResultMethods[Any], device: Device | str) -> DeviceOp[Any]:
        """Return a copy of the resulting tensor on a device."""
        return self._follow("to", device)

    def to_numpy(
        self: ResultMethods[Tensor[Any]] | ResultMethods[Arc[Any]],
    ) -> DeviceOp[np.ndarray[Any, Any]]:
        """Copy the resulting tensor to a NumPy array; later ops run when it has arrived."""
        return self._fetch("copy_to_host", "to_numpy")

    def to_host_vec(
        self: ResultMethods[Tensor[Any]] | ResultMethods[Arc[Any]],
    ) -> DeviceOp[np.ndarray[Any, Any]]:
        """Do as `to_numpy`, with all elements along one axis."""
        return self._fetch("to_host_vec")

    @overload
    def item(self: ResultMethods[Tensor[E]]) -> DeviceOp[E]: ...
    @overload
    def item(self: ResultMethods[Arc[E]]) -> DeviceOp[E]: ...
    def item(self: ResultMethods[Any]) -> DeviceOp[Any]:
        """Return the only element of the resulting tensor as a Python number."""
        return self._fetch("copy_item", "item")

    def _fetch(self, method: str, verb: str | None = None) -> DeviceOp[Any]:
        """Do as `_follow`, where the op gives host data."""
        op = self._follow(method, verb=verb)
        op.host_data = True
        return op
