"""The methods of an op that are methods of its result: `op.partition(...)` before it has run.

Each is an op that calls the method of that name once the result is there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..driver.protocol import Device
from .endings import Endings

if TYPE_CHECKING:
    import numpy as np

    from ..array.arc import Arc
    from ..array.partition import Partition
    from ..array.shape import ShapeLike
    from ..array.tensor import Tensor
    from ..array.views import Range
    from ..base.dtypes import DType
    from .core import DeviceOp

    E = TypeVar("E", bound=DType)

R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


class ResultMethods(Endings[T_co]):
    """What can be asked of an op because it can be asked of its result."""

    @abstractmethod
    def derived(self, function: Callable[..., R], verb: str, *extra: Any) -> DeviceOp[R]:
        """The op that gives the result to a function, under a name."""

    @abstractmethod
    def _follow(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        """The op that a method of the result gives."""

    def unwrap_arc(self: ResultMethods[Arc[E]]) -> DeviceOp[Tensor[E]]:
        """The tensor of the resulting Arc, which must be its only owner."""
        return self._forward("unwrap_arc")

    def partition(self: ResultMethods[Tensor[E]], tile: ShapeLike) -> DeviceOp[Partition[E]]:
        """The resulting tensor, given over to a partition into tiles."""
        return self._forward("partition", tile)

    @overload
    def try_partition(
        self: ResultMethods[Tensor[E]], tile: ShapeLike
    ) -> DeviceOp[Partition[E]]: ...
    @overload
    def try_partition(self: ResultMethods[Arc[E]], tile: ShapeLike) -> DeviceOp[Partition[E]]: ...
    def try_partition(self: ResultMethods[Any], tile: ShapeLike) -> DeviceOp[Any]:
        """As `partition`; also of an `Arc`, which must then be the only owner of its tensor."""
        return self._forward("try_partition", tile)

    def unpartition(self: ResultMethods[Partition[E]]) -> DeviceOp[Tensor[E]]:
        """The tensor of the resulting partition."""
        return self._forward("unpartition")

    def reshape(self: ResultMethods[Tensor[E]], shape: ShapeLike) -> DeviceOp[Tensor[E]]:
        """The resulting tensor with another shape; it is handed over, not borrowed."""
        return self._forward("into_shape", shape, verb="reshape")

    def view(self: ResultMethods[Tensor[E]], shape: ShapeLike) -> DeviceOp[Tensor[E]]:
        """A view of the resulting tensor with another shape."""
        return self._forward("view", shape)

    def slice(self: ResultMethods[Tensor[E]], *ranges: Range) -> DeviceOp[Tensor[E]]:
        """A view of a rectangular part of the resulting tensor."""
        return self._forward("slice", *ranges)

    @overload
    def reinterpret(
        self: ResultMethods[Tensor[Any]], dtype: type[E], shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[E]]: ...
    @overload
    def reinterpret(
        self: ResultMethods[Tensor[Any]], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[Any]]: ...
    def reinterpret(
        self: ResultMethods[Tensor[Any]], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[Any]]:
        """The resulting tensor's bytes as another type; it is handed over, not borrowed."""
        return self._forward("into_type", dtype, shape, verb="reinterpret")

    def dup(self: ResultMethods[Tensor[E]]) -> DeviceOp[Tensor[E]]:
        """A copy of the resulting tensor."""
        return self._follow("dup")

    def to(self: ResultMethods[Tensor[E]], device: Device | str) -> DeviceOp[Tensor[E]]:
        """A copy of the resulting tensor on a device."""
        return self._follow("to", device)

    def to_numpy(self: ResultMethods[Tensor[Any]]) -> DeviceOp[np.ndarray[Any, Any]]:
        """A copy of the resulting tensor in a NumPy array; what follows runs when it is there."""
        return self._fetch("copy_to_host", "to_numpy")

    def to_host_vec(self: ResultMethods[Tensor[Any]]) -> DeviceOp[np.ndarray[Any, Any]]:
        """As `to_numpy`, with all elements along one axis."""
        return self._fetch("to_host_vec")

    def item(self: ResultMethods[Tensor[E]]) -> DeviceOp[E]:
        """The only element of the resulting tensor as a Python number."""
        return self._fetch("copy_item", "item")

    def _forward(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        return self.derived(methodcaller(method, *args), verb or method)

    def _fetch(self, method: str, verb: str | None = None) -> DeviceOp[Any]:
        """As `_follow`, where the op gives host data."""
        op = self._follow(method, verb=verb)
        op.host_data = True
        return op
