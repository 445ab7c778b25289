"""Launches that write whole tensors: outputs are exclusive borrows, moved tensors, or ops."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from ..op.context import ExecutionContext
from ..op.core import is_op
from ..op.running import Steps
from .arguments import is_borrow, is_tensor
from .operation import MOST_OUTPUTS, Launch, Outputs

R_co = TypeVar("R_co", covariant=True)


class WholeOutputs(Outputs):
    """Takes the outputs of a launch that writes whole tensors out of its results."""

    __slots__ = ()

    def one(self, result: Any) -> Any:
        """Return the tensor that was borrowed."""
        return result.borrowed if is_borrow(result) else result


class WholeLaunch(Launch[R_co]):
    """A kernel with its arguments. Its result is the tuple of the very objects passed."""

    _outputs = staticmethod(lru_cache(MOST_OUTPUTS)(WholeOutputs))

    _fresh: tuple[int, ...] = ()
    """Which written arguments come from ops."""

    def steps(self, ctx: ExecutionContext) -> Steps[R_co]:
        """Return the argument ops, then the kernel."""
        parameters = self._kernel.source.parameters
        self._fresh = tuple(
            i for i, arg in enumerate(self._args) if is_op(arg) and parameters[i].kind == "output"
        )
        return super().steps(ctx)

    def _taking(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Borrow the result of an op, which is not shared yet and so may be written."""
        given = list(values)
        for i in self._fresh:
            if is_tensor(given[i]):
                given[i] = given[i].borrow_mut()
        return tuple(given)
