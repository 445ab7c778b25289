"""Launches that write whole tensors: outputs are exclusive borrows, moved tensors, or ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..op.context import ExecutionContext
from ..op.core import DeviceOp, is_op
from ..op.running import Steps
from .arguments import Bound
from .kinds import is_tensor
from .operation import Launch
from .slices import is_borrow

R_co = TypeVar("R_co", covariant=True)


class WholeLaunch(Launch[R_co]):
    """A kernel with its arguments. Its result is the tuple of the very objects passed."""

    _fresh: tuple[int, ...] = ()
    """Which written arguments come from ops."""

    def steps(self, ctx: ExecutionContext) -> Steps[R_co]:
        """The argument ops, then the kernel."""
        parameters = self._kernel.source.parameters
        self._fresh = tuple(
            i for i, arg in enumerate(self._args) if is_op(arg) and parameters[i].kind == "output"
        )
        return super().steps(ctx)

    def _bind(self, values: Sequence[Any]) -> Bound:
        """What an op gave belongs to nobody else yet, so it may be written."""
        given = list(values)
        for i in self._fresh:
            if is_tensor(given[i]):
                given[i] = given[i].borrow_mut()
        return super()._bind(given)

    def _then_outputs(self, written: list[int]) -> DeviceOp[Any]:
        def outputs(*results: Any) -> Any:
            found = [results[i] for i in written]
            tensors = tuple(x.borrowed if is_borrow(x) else x for x in found)
            return tensors[0] if len(tensors) == 1 else tensors

        return self.derived(outputs, "out")
