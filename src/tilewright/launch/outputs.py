"""Launches by the number of their outputs, as type checkers see them: what `.out()` gives.

At run time all of them are a `Launch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, overload

if TYPE_CHECKING:
    from ..base.dtypes import DType
    from ..lang.memory import MappedPartitionMut
    from ..lang.tensor import TensorMut
    from ..op.core import DeviceOp
    from ..tensors.partition import Partition
    from ..tensors.tensor import Tensor
    from .operation import Launch
    from .pieces import OutputInPieces

    R_co = TypeVar("R_co", covariant=True)
    E = TypeVar("E", bound=DType)
    F = TypeVar("F", bound=DType)
    G = TypeVar("G", bound=DType)
    T = TypeVar("T")
    U = TypeVar("U")
    V = TypeVar("V")
    Ts = TypeVarTuple("Ts")

    class Written(
        TensorMut[Any, *tuple[Any, ...]],
        MappedPartitionMut[Any, *tuple[Any, ...]],
    ):
        """What every parameter takes that is an output, and no other one does."""

        load: Any  # the two have others
        store: Any

    class Launch1(Launch[R_co]):
        """A launch whose kernel has one output first."""

        @overload
        def out(self: Launch1[tuple[Partition[E], *Ts]]) -> DeviceOp[Tensor[E]]: ...
        @overload
        def out(self: Launch1[tuple[OutputInPieces[T], *Ts]]) -> DeviceOp[T]: ...
        def out(self) -> Any:
            """Return the output alone, unpartitioned."""
            ...

    class Launch2(Launch[R_co]):
        """A launch whose kernel has two outputs first."""

        @overload
        def out(
            self: Launch2[tuple[Partition[E], Partition[F], *Ts]],
        ) -> DeviceOp[tuple[Tensor[E], Tensor[F]]]: ...
        @overload
        def out(
            self: Launch2[tuple[OutputInPieces[T], OutputInPieces[U], *Ts]],
        ) -> DeviceOp[tuple[T, U]]: ...
        def out(self) -> Any:
            """Return the outputs alone, unpartitioned."""
            ...

    class Launch3(Launch[R_co]):
        """A launch whose kernel has three outputs first, or more."""

        @overload
        def out(
            self: Launch3[tuple[Partition[E], Partition[F], Partition[G], *Ts]],
        ) -> DeviceOp[tuple[Tensor[E], Tensor[F], Tensor[G], *tuple[Any, ...]]]: ...
        @overload
        def out(
            self: Launch3[tuple[OutputInPieces[T], OutputInPieces[U], OutputInPieces[V], *Ts]],
        ) -> DeviceOp[tuple[T, U, V, *tuple[Any, ...]]]: ...
        def out(self) -> Any:
            """Return the outputs alone, unpartitioned."""
            ...
